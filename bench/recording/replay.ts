import { gunzipSync } from "node:zlib";
import { ReplayUrl } from "@svc/contract/browser/replay.ts";
import type { Customer } from "../service/customer.ts";

const POLL_MS = 50;

/** The replay of a session as text; null when there is none by a moment of `performance.now()`. */
export async function replayOf(
  customer: Customer,
  id: string,
  until: number,
): Promise<string | null> {
  const headers = { authorization: `Bearer ${customer.key}` };
  while (performance.now() < until) {
    const answer = await fetch(new URL(`/sessions/${id}/replay-url`, customer.base), { headers });
    const body: unknown = await answer.json();
    if (answer.status === 200) {
      const stored = await fetch(ReplayUrl.parse(body).url);
      return gunzipSync(Buffer.from(await stored.arrayBuffer())).toString();
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return null;
}
