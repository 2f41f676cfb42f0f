import { NAMES, type Opened, throughGateway } from "../browser/contestants.ts";
import { Rest } from "../browser/rest.ts";
import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { short, summaryText } from "../report/stats.ts";
import { Customer } from "../service/customer.ts";
import { Service } from "../service/service.ts";
import { startSite } from "../site/site.ts";

const DEFAULT_SIZE = 20;
const WARM = 2;
const ACQUIRE_MS = 120_000;

/** When one of the burst got its browser and its first page, in ms since the burst began. */
interface Served {
  createdMs: number;
  loadedMs: number;
}
type Outcome = Served | { error: string };

/** Many creates at the same moment against few warm browsers. */
export async function benchBurst(options: Options): Promise<void> {
  const size = Number(options.words[1] ?? options.n ?? DEFAULT_SIZE);
  if (!Number.isSafeInteger(size) || size < 1) throw new Error("burst wants a count");
  const report = new Report(`burst, ${size} creates at once, ${WARM} browsers warm`);
  const site = await startSite();
  const service = await Service.start({
    SVC_EGRESS_ALLOW: site.address,
    SVC_WARM_FAST: String(WARM),
    SVC_WARM_STEALTH: "0",
    SVC_MAX_FAST: String(size + WARM),
    SVC_ACQUIRE_TIMEOUT_MS: String(ACQUIRE_MS),
  });
  await new Rest([`${service.url}/health`], WARM).take("none");
  const customer = new Customer(service.url, service.key);
  const began = performance.now();
  const outcomes = await Promise.all(
    Array.from({ length: size }, () => visit(customer, site.url, began)),
  );
  show(report, outcomes);
  report.finish(options.json);
}

async function visit(customer: Customer, siteUrl: string, began: number): Promise<Outcome> {
  let opened: Opened | null = null;
  try {
    opened = await throughGateway(NAMES.gatewayWs, customer, "ws").open();
    const createdMs = performance.now() - began;
    const browser = await opened.connect();
    const page = await opened.firstPage(browser);
    await page.goto(siteUrl, { waitUntil: "load" });
    const loadedMs = performance.now() - began;
    await opened.release(browser);
    await browser.close().catch(() => undefined);
    return { createdMs, loadedMs };
  } catch (error) {
    return { error: String(error).slice(0, 300) };
  }
}

function show(report: Report, outcomes: Outcome[]): void {
  const served = outcomes
    .flatMap((outcome) => ("error" in outcome ? [] : [outcome]))
    .toSorted((left, right) => left.loadedMs - right.loadedMs);
  const errors = outcomes.flatMap((outcome) => ("error" in outcome ? [outcome.error] : []));
  report.table(
    "In the order of their first page: ms since the burst began",
    ["", "created", "first page loaded"],
    served.map(({ createdMs, loadedMs }, at) => [
      String(at + 1),
      short(createdMs),
      short(loadedMs),
    ]),
  );
  report.table(
    "All of them: ms, median (p95 / p99)",
    ["created", "first page loaded", "served"],
    [
      [
        summaryText(served.map(({ createdMs }) => createdMs)),
        summaryText(served.map(({ loadedMs }) => loadedMs)),
        `${served.length} of ${outcomes.length}`,
      ],
    ],
  );
  if (errors.length > 0)
    report.table(
      "Not served",
      ["error"],
      errors.map((error) => [error]),
    );
  report.goal({ what: "not served", got: errors.length, limit: 0, unit: "" });
  report.keep("burst", { outcomes });
}
