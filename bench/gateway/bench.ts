import type { Options } from "../options.ts";
import { openUpstream } from "../relay/upstream-session.ts";
import { Report } from "../report/report.ts";
import { summaryText, summarize } from "../report/stats.ts";
import { startGateway } from "../service/lone-gateway.ts";
import { load } from "./load.ts";

const DEFAULT_N = 2_000;
const WARM_UP = 300;
const MANY = 16;
/** How many more requests the many connections send than the single one. */
const MANY_FACTOR = 5;

/** GET /sessions/:id: the latency of one connection, and what sixteen get done. */
export async function benchGateway(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const report = new Report(`gateway, ${n} requests after ${WARM_UP} of warm-up`);
  const gateway = await startGateway();
  const { customer, session } = await openUpstream(gateway);
  const url = new URL(`/sessions/${session.sessionId}`, gateway.url).href;
  await load(url, customer.key, { connections: MANY, count: WARM_UP });
  const one = await load(url, customer.key, { connections: 1, count: n });
  const many = await load(url, customer.key, { connections: MANY, count: n * MANY_FACTOR });
  report.table(
    "GET /sessions/:id",
    ["connections", "ms, median (p95 / p99)", "requests/s", "requests", "not 200"],
    [
      ["1", summaryText(one.ms), one.perSecond, one.ms.length, one.failures],
      [String(MANY), summaryText(many.ms), many.perSecond, many.ms.length, many.failures],
    ],
  );
  const got = summarize(one.ms).p50;
  report.goal({ what: "GET /sessions/:id at 1 connection, p50", got, limit: 2, unit: "ms" });
  report.keep("gateway", { one, many });
  report.finish(options.json);
}
