import type { SessionFiles } from "@svc/contract/browser/session-file.ts";
import type { Handler } from "../../context.ts";
import { listFiles, shownFile } from "./files-at-pool.ts";

export const listSessionFiles: Handler = async (c) => {
  const files = await listFiles(c);
  const body: SessionFiles = { files: await Promise.all(files.map((file) => shownFile(c, file))) };
  return c.json(body);
};
