import { CreateKey } from "@svc/contract/admin/orgs.ts";
import { ApiError } from "@svc/contract/errors.ts";
import * as keys from "../../../control-plane/keys.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";

export const createKey: Handler = async (c) => {
  const { name } = await parseBody(c, CreateKey);
  const key = await keys.createKey(c.env.DB, c.req.param("id") ?? "", name, Date.now());
  if (!key) throw new ApiError("NotFound", "There is no such org.");
  return c.json(key, 201);
};
