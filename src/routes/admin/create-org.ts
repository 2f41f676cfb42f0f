import { CreateOrg } from "@svc/contract/admin/orgs.ts";
import * as orgs from "../../../control-plane/orgs.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";

export const createOrg: Handler = async (c) => {
  const wanted = await parseBody(c, CreateOrg);
  return c.json(await orgs.createOrg(c.env.DB, wanted, Date.now()), 201);
};
