import { setTimeout as wait } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/client";
import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { median, summaryText } from "../report/stats.ts";
import type { Customer } from "../service/customer.ts";
import { Operator } from "../service/operator.ts";
import { Service } from "../service/service.ts";
import { callTool, hostedClient, localClient, localServer } from "./clients.ts";
import { startCounter } from "./site.ts";

const DEFAULT_N = 30;
const WARM_UP = 3;
const STARTS = 10;
const CHARTS = 5;
/** A host's first machine may take a while to be there. */
const TRIES = 60;
const TRY_MS = 5_000;
const CHART = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9, 16])\nplt.show()";

/** Samples in ms, by the name of what was measured. */
type Found = Record<string, number[]>;

/** Measures the time that the tool server adds to the service behind it, and how long an agent waits for the most common calls. */
export async function benchMcp(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const report = new Report(`mcp, n = ${n} after ${WARM_UP} of warm-up`);
  const site = await startCounter();
  const env = { SVC_WARM_FAST: "2", SVC_WARM_STEALTH: "0", SVC_EGRESS_ALLOW: site.address };
  const service = await Service.start({ ...env, SVC_WARM_VM: "1" });
  const customer = await new Operator(service.url, service.adminToken).newCustomer();
  const client = await hostedClient(customer);
  const found: Found = {
    ...(await asking(client, customer, n)),
    ...(await browsing(client, site.url, n)),
    ...(await starting(customer)),
    ...(await drawing(client)),
  };
  await client.close();
  site.close();
  const rows = Object.entries(found).map(([what, ms]) => [what, ms.length, summaryText(ms)]);
  report.table("ms: median (p95 / p99)", ["", "n", "median (p95 / p99)"], rows);
  const p50 = (what: string): number => median(found[what] ?? []);
  const steps = ["navigate", "read_page", "click"].reduce((sum, step) => sum + p50(step), 0);
  for (const [what, got, limit] of [
    ["tools/list, p50", p50("tools/list"), 10],
    ["what a tool adds to its call, p50", p50("a tool") - p50("its call"), 5],
    ["navigate, read_page and click, p50 in sum", steps, 400],
    ["svc_run_code with a chart, p50", p50("svc_run_code with a chart"), 4_000],
    ["start of a local server to its list, p50", p50("local start"), 400],
  ] as const)
    report.goal({ what, got, limit, unit: "ms" });
  report.keep("samples", found);
  report.finish(options.json);
}

async function timed(into: number[] | undefined, work: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  await work();
  into?.push(performance.now() - began);
}

/** A tool and the one call that it makes, in turns. */
async function asking(client: Client, { base, key }: Customer, n: number): Promise<Found> {
  const found = { "tools/list": [], "a tool": [], "its call": [] } satisfies Found;
  const headers = { authorization: `Bearer ${key}` };
  const profiles = async (): Promise<string> =>
    (await fetch(new URL("/profiles", base), { headers })).text();
  for (let round = -WARM_UP; round < n; round += 1) {
    const keep = (name: keyof typeof found) => (round < 0 ? undefined : found[name]);
    // A raw request: `listTools` would answer from the client's own cache.
    await timed(keep("tools/list"), () => client.request({ method: "tools/list" }));
    await timed(keep("a tool"), () => callTool(client, "svc_browser_profiles"));
    await timed(keep("its call"), profiles);
  }
  return found;
}

async function browsing(client: Client, url: string, n: number): Promise<Found> {
  const { sessionId } = await callTool(client, "svc_browser_create", { mode: "fast" });
  const found = { navigate: [], read_page: [], click: [] } satisfies Found;
  for (let round = -WARM_UP; round < n; round += 1) {
    const step = (name: keyof typeof found, args: object) =>
      timed(round < 0 ? undefined : found[name], () =>
        callTool(client, `svc_browser_${name}`, { sessionId, ...args }),
      );
    await step("navigate", { url });
    await step("read_page", { format: "snapshot" });
    await step("click", { selector: "#more" });
  }
  await callTool(client, "svc_browser_close", { sessionId });
  return found;
}

async function starting(customer: Customer): Promise<Found> {
  const path = await localServer();
  const found = { "local start": [] } satisfies Found;
  for (let round = -1; round < STARTS; round += 1) {
    let client: Client | undefined;
    await timed(round < 0 ? undefined : found["local start"], async () => {
      client = await localClient(path, customer);
    });
    await client?.close();
  }
  return found;
}

async function drawing(client: Client): Promise<Found> {
  const found = { "svc_run_code with a chart": [] } satisfies Found;
  const sessionId = await machine(client);
  for (let round = -1; round < CHARTS; round += 1)
    await timed(round < 0 ? undefined : found["svc_run_code with a chart"], () =>
      callTool(client, "svc_run_code", { sessionId, code: CHART }),
    );
  await callTool(client, "svc_kill", { sessionId });
  return found;
}

/** A machine, once a host can give one. */
async function machine(client: Client): Promise<unknown> {
  for (let tries = 1; ; tries += 1) {
    try {
      return (await callTool(client, "svc_sandbox_create"))["sessionId"];
    } catch (error) {
      if (tries === TRIES) throw error;
      await wait(TRY_MS);
    }
  }
}
