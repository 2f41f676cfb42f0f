import { LIMITS } from "@svc/contract/limits.ts";
import { within } from "../live/deadline.ts";
import { noteFault } from "./fault.ts";

/** What a host learns of the customer's request: nothing else passes, Authorization least of all. */
const PASSED = ["user-agent", "sec-websocket-protocol", "sec-websocket-extensions"];

/** What a host refuses by itself; the rest is its failure. */
const REFUSALS = new Set([404, 409, 428, 429]);

/** A socket refusal: plain text, as the document says of every handshake outcome. */
export function refuse(status: 400 | 401 | 404 | 409 | 426 | 429 | 502, text: string): Response {
  return new Response(`${text}\n`, { status });
}

/** What a host is called in a refusal. */
export type HostNoun = "session's browser pool" | "sandbox's machine";

/**
 * Hands a customer's upgrade to a host and returns the host's own upgrade response: from then on the
 * runtime pipes bytes, and no code of ours is in between. A host's 404, 409, 428 and 429 pass as plain
 * text, all else it may answer is 502. `own`: headers that the gateway adds.
 */
export async function relay(
  request: Request,
  target: URL,
  bearer: string,
  noun: HostNoun = "session's browser pool",
  own: Record<string, string> = {},
): Promise<Response> {
  const headers = new Headers({ ...own, upgrade: "websocket", authorization: `Bearer ${bearer}` });
  for (const name of PASSED) {
    const value = request.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  try {
    return await within(LIMITS.poolUpgradeMs, async (signal) => {
      const upstream = await fetch(target, { headers, signal, redirect: "manual" });
      return upstream.status === 101 ? upstream : refusedBy(upstream, noun);
    });
  } catch (error) {
    noteFault("an upgrade", error);
    return refuse(502, `The ${noun} did not answer the upgrade. Try again.`);
  }
}

async function refusedBy(upstream: Response, noun: HostNoun): Promise<Response> {
  const text = await upstream.text();
  if (!REFUSALS.has(upstream.status)) {
    noteFault("an upgrade", `status ${upstream.status}`);
    return refuse(502, `The ${noun} refused the upgrade. Try again.`);
  }
  return new Response(text, { status: upstream.status });
}
