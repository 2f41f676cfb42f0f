import { logOf } from "@svc/contract/log.ts";
import type * as z from "zod";
import { clientGone } from "../../client-gone.ts";
import type { AppContext } from "../../context.ts";
import { tooLarge } from "../../middleware/body-cap.ts";
import { passOn } from "../../pass-on.ts";
import { type FileAtHost, kindIn } from "./machine.ts";

const log = logOf("src");

/** Passes the body of a request on to a host. */
export async function send(
  c: AppContext,
  { url, headers, unreachable }: FileAtHost,
  atMost: number,
): Promise<Response> {
  const { body, signal, isOver } = passOn(c.req.raw, atMost);
  try {
    return await fetch(url, { method: "PUT", headers, body, signal, redirect: "manual" });
  } catch (error) {
    if (isOver()) throw tooLarge(atMost);
    if (signal.aborted) throw clientGone(error, c.get("requestId"));
    log.warn("host_call_failed", { call: `PUT /${kindIn(url)}/:id/files`, reason: error });
    throw unreachable();
  }
}

/** The host's receipt for a file. */
export async function receipt<Receipt>(
  answer: Response,
  schema: z.ZodType<Receipt>,
  { unreachable }: FileAtHost,
): Promise<Receipt> {
  try {
    return schema.parse(await answer.json());
  } catch {
    throw unreachable();
  }
}
