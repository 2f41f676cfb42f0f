import * as z from "zod";
import { ErrorObject } from "./rpc-error.ts";

const version = z.literal("2.0");
const params = z.record(z.string(), z.unknown());

/** An id of a request: also the number of its stream, hence 32 bits. */
export const RequestId = z.int().min(0).max(0xffff_ffff);

/** A request or, without id, a notification. */
export const Call = z.object({
  jsonrpc: version,
  id: RequestId.exactOptional(),
  method: z.string().min(1).max(100),
  params: params.exactOptional(),
});
export type Call = z.infer<typeof Call>;

/** An answer: `result` or `error`. The id is null when the request could not be read. */
export const Answer = z.object({
  jsonrpc: version,
  id: RequestId.nullable(),
  result: z.unknown().optional(),
  error: ErrorObject.exactOptional(),
});
export type Answer = z.infer<typeof Answer>;

/** Parameters that every request may carry. */
export const CommonParams = z.object({ timeoutMs: z.number().positive().exactOptional() });

/** `rpc.credit`: the receiver of a stream has consumed so many bytes more. */
export const Credit = z.object({ stream: RequestId, bytes: z.int().positive() });

/** `rpc.cancel`: give up a request. */
export const Cancel = z.object({ id: RequestId });

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The JSON of a text frame; undefined when it is none. */
export function readJson(payload: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(payload));
  } catch {
    return undefined;
  }
}
