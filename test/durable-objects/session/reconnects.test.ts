import { LIMITS } from "@svc/contract/limits.ts";
import { expect, test } from "vitest";
import { ReconnectLife } from "../../support/worker/reconnect-life.ts";

const LIVES = 5000;
/** What a report may take to arrive: the merge of changes, a heartbeat that is lost twice, the question for the sockets. */
const NEWS_MS = 20_000;

test("5,000 lives whose clients come back after 0 to 1,000 ms: none is cut, and each ends", () => {
  const reasons = new Set<string>();
  for (let seed = 0; seed < LIVES; seed += 1) {
    const life = new ReconnectLife(seed);
    const { cutAt, leftAt, how, end } = life.run();
    const name = `seed ${seed}`;
    expect([name, cutAt]).toEqual([name, null]);
    const grace = how === "clean" ? LIMITS.lingerMs : LIMITS.orphanGraceMs;
    const reason = how === "clean" ? "client_disconnected" : "orphaned";
    expect([name, end.reason]).toEqual([name, reason]);
    const lateMs = end.endedAt - leftAt - grace;
    expect([name, lateMs >= 0 && lateMs < NEWS_MS]).toEqual([name, true]);
    reasons.add(end.reason);
  }
  expect([...reasons].toSorted()).toEqual(["client_disconnected", "orphaned"]);
});
