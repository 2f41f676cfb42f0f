import type { Handler } from "../../context.ts";
import { subjectOf } from "./files-at-pool.ts";
import { storeFile } from "./store-file.ts";

export const putSessionFile: Handler = async (c) =>
  c.json(await storeFile(c, subjectOf(c), c.req.param("name") ?? ""));
