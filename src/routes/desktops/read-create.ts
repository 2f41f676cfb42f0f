import { CreateDesktop } from "@svc/contract/vm/desktop.ts";
import { parseObject } from "../../body.ts";
import type { AppContext } from "../../context.ts";
import { type WantedSandbox, wantedOf } from "../sandboxes/read-create.ts";

/** Reads POST /desktops as the create that it stands for. Throws the first 400. */
export async function readDesktop(c: AppContext): Promise<WantedSandbox> {
  const { ttlSeconds, record, ...asked } = await parseObject(c, CreateDesktop);
  const windowMs = ttlSeconds == null ? null : ttlSeconds * 1000;
  const timeoutMs = asked.timeoutMs ?? windowMs;
  const wanted = wantedOf({ ...asked, kind: "desktop", timeoutMs });
  // Not refused with a custom template, unlike POST /sandboxes (document 2, POST /desktops).
  return { ...wanted, record: record ?? false };
}
