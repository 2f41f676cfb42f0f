import { ApiError } from "@svc/contract/errors.ts";
import type { Handler } from "../../context.ts";
import { listFiles, shownFile } from "./files-at-pool.ts";

export const getSessionFile: Handler = async (c) => {
  const wanted = c.req.param("name");
  const file = (await listFiles(c)).find(({ name }) => name === wanted);
  if (!file) throw new ApiError("NotFound", "There is no such file.");
  return c.json(await shownFile(c, file));
};
