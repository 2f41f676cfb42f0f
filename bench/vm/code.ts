import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { median, summaryText } from "../report/stats.ts";
import { openControl } from "./control.ts";
import { VmHost } from "./host.ts";

const DEFAULT_N = 10;
const CALLS = 10;
const PRINTED_BYTES = 100_000_000;
const CHART = `import matplotlib.pyplot as plt
plt.plot(range(100), [n * n for n in range(100)]); plt.title("n"); None`;

/** Samples by what they are of, in ms; MB/s. */
type Found = Record<string, number[]>;

/** Runs of code in clones: the first one, the next ones, a chart, much output. */
export async function benchCode(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const report = new Report(`code.run in clones, n = ${n}`);
  const found: Found = {};
  const host = await VmHost.start();
  try {
    await host.template();
    for (let at = 0; at < n; at += 1) await measure(host, `code-${at}`, found);
  } finally {
    await host.stop();
  }
  report.table(
    "ms; MB/s: median (p95 / p99)",
    ["", "n", "median (p95 / p99)"],
    Object.entries(found).map(([name, samples]) => [name, samples.length, summaryText(samples)]),
  );
  const of = (name: string): number => median(found[name] ?? []);
  for (const goal of [
    { what: "first call after create, ms", got: of("first call after create"), limit: 600 },
    { what: "x + 1, ms", got: of("x + 1"), limit: 200 },
    { what: "import pandas, ms", got: of("import pandas"), limit: 300 },
    { what: "chart with picture, ms", got: of("chart with picture"), limit: 3_000 },
  ])
    report.goal({ ...goal, unit: "" });
  report.keep("samples", found);
  report.finish(options.json);
}

async function measure(host: VmHost, id: string, found: Found): Promise<void> {
  const keep = (name: string, value: number): void => void (found[name] ??= []).push(value);
  const time = async (name: string, act: () => Promise<unknown>): Promise<void> => {
    const startedAt = performance.now();
    await act();
    keep(name, performance.now() - startedAt);
  };
  const startedAt = performance.now();
  await host.place(id);
  const { client, socket } = await openControl(host, id);
  await time("first call after create", () => client.ask("code.run", { code: "x = 1" }));
  keep("create to first answer", performance.now() - startedAt);
  for (let call = 0; call < CALLS; call += 1)
    await time("x + 1", () => client.ask("code.run", { code: "x + 1" }));
  await time("import pandas", () => client.ask("code.run", { code: "import pandas" }));
  await time("chart with picture", () => client.ask("code.run", { code: CHART }));
  let bytes = 0;
  const printingAt = performance.now();
  const code = `for n in range(100): print("x" * ${PRINTED_BYTES / 100 - 1})`;
  const call = client.call(
    "code.run",
    { code, stream: true },
    { onBytes: (_channel, part) => void (bytes += part.length) },
  );
  await call.result;
  if (bytes !== PRINTED_BYTES) throw new Error(`${bytes} bytes of ${PRINTED_BYTES} came`);
  keep("100 MB of stdout, MB/s", PRINTED_BYTES / 1_000 / (performance.now() - printingAt));
  socket.terminate();
  await host.end(id);
}
