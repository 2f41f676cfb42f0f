import type { DesktopCreated } from "@svc/contract/vm/desktop.ts";
import type { Handler } from "../../context.ts";
import { makeSandbox } from "../sandboxes/create.ts";
import { readDesktop } from "./read-create.ts";

/** The older way to a desktop, by the same pipeline as POST /sandboxes. */
export const createDesktop: Handler = async (c) => {
  const { id, urls, expiresAt } = await makeSandbox(c, await readDesktop(c));
  const { controlUrl, streamUrl = "", ...rest } = urls;
  const body: DesktopCreated = { sessionId: id, streamUrl, controlUrl, expiresAt, ...rest };
  return c.json(body, 201);
};
