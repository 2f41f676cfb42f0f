import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Svc } from "@svc/sdk/svc.ts";
import type { Options } from "../options.ts";
import { openUpstream } from "../relay/upstream-session.ts";
import { Report } from "../report/report.ts";
import { median, summaryText } from "../report/stats.ts";
import { startGateway } from "../service/lone-gateway.ts";

const DEFAULT_N = 500;
const WARM_UP = 50;
const STARTS = 5;
const CLI = fileURLToPath(new URL("../../cli/dist/svc.js", import.meta.url));

/** Measures the time that the sdk adds to a call, in turns with a plain fetch of the same, and the start of the command. */
export async function benchSdk(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const report = new Report(`sdk and command, n = ${n} after ${WARM_UP} of warm-up`);
  const gateway = await startGateway();
  const { customer, session } = await openUpstream(gateway);
  const { plain, bySdk } = await calling(gateway.url, customer.key, session.sessionId, n);
  const starts = await starting();
  report.table(
    "ms: median (p95 / p99)",
    ["", "median (p95 / p99)"],
    [
      ["GET /sessions/:id by fetch", summaryText(plain)],
      ["the same by the sdk", summaryText(bySdk)],
      ["svc --help, from start to end", summaryText(starts)],
    ],
  );
  report.goal(
    { what: "what the sdk adds, p50", got: median(bySdk) - median(plain), limit: 2, unit: "ms" },
    { what: "svc --help, p50", got: median(starts), limit: 200, unit: "ms" },
  );
  report.keep("sdk", { plain, bySdk, starts });
  report.finish(options.json);
}

async function calling(url: string, apiKey: string, id: string, n: number) {
  const svc = new Svc({ apiKey, baseUrl: url });
  const headers = { authorization: `Bearer ${apiKey}` };
  const plain: number[] = [];
  const bySdk: number[] = [];
  const read = async () => (await fetch(`${url}/sessions/${id}`, { headers })).json();
  for (let round = -WARM_UP; round < n; round += 1) {
    const asked = await timed(read);
    const got = await timed(() => svc.browsers.get(id));
    if (round < 0) continue;
    plain.push(asked);
    bySdk.push(got);
  }
  return { plain, bySdk };
}

async function starting(): Promise<number[]> {
  const starts: number[] = [];
  await help();
  for (let round = 0; round < STARTS; round += 1) starts.push(await timed(help));
  return starts;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** The command as `npm run bundle-cli` packs it. */
async function help(): Promise<void> {
  const child = spawn(process.execPath, [CLI, "--help"], { stdio: "ignore" });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error("svc --help failed: npm run bundle-cli first");
}
