import { randomBytes } from "node:crypto";
import { cp, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirOf } from "../../vm-host/config.ts";
import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { median, summaryText } from "../report/stats.ts";
import { tempFolder } from "../service/endings.ts";
import { Boots } from "./boots.ts";
import { VmHost } from "./host.ts";
import { type Idle, measureIdle } from "./idle.ts";

const DEFAULT_N = 20;
const EXECS_PER_N = 5;
const AT_ONCE = 8;
const MIB = 1024 * 1024;
const BYTES = 32 * MIB;
const RATIO = 0.15;

/** Samples by what they are of; ms, MB/s, MiB, %. */
type Found = Record<string, number[]>;
type Section = (n: number) => Promise<Found>;

const SECTIONS: Record<string, Section> = {
  boot: async (n) => {
    const boots = await Boots.open();
    console.log(`accelerator ${boots.accelerator.name} ${boots.accelerator.reason}`);
    return { "plain boot": await repeat(n, () => boots.firstExec()) };
  },
  miss: async (n) => ({ "template miss": await repeat(n, miss) }),
  warm: async (n) => ({ "warm clone": await warm(n) }),
  clone: async (n) => ({ "cold clone": await clones(n) }),
  exec: async (n) => ({ exec: await withMachine((host, id) => execs(host, id, n)) }),
  python: async (n) => ({ "first import pandas": await imports(n) }),
  transfer: (n) => withMachine((host, id) => transfers(host, id, n)),
  burst: async (n) => ({ "8 at once, all": await bursts(Math.max(3, Math.ceil(n / 5))) }),
  idle: async () => idleOf(await withMachine((host) => measureIdle(host))),
};

/** Machines: how long until the first command, what a command and a transfer take, what they cost idle. */
export async function benchVm(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const names = options.words.slice(1);
  const report = new Report(`virtual machines, n = ${n}`);
  const found: Found = {};
  for (const [name, section] of Object.entries(SECTIONS))
    if (names.length === 0 || names.includes(name)) Object.assign(found, await section(n));
  const rows = Object.entries(found);
  report.table(
    "ms; MB/s; MiB and % of one processor for idle machines: median (p95 / p99)",
    ["", "n", "median (p95 / p99)"],
    rows.map(([name, samples]) => [name, samples.length, summaryText(samples)]),
  );
  judge(report, found);
  report.keep("samples", found);
  report.finish(options.json);
}

function judge(report: Report, found: Found): void {
  const of = (name: string): number => median(found[name] ?? []);
  const goals = [
    { what: "warm clone / plain boot", got: of("warm clone") / of("plain boot"), limit: RATIO },
    { what: "warm clone, ms", got: of("warm clone"), limit: 600 },
    { what: "exec, ms", got: of("exec"), limit: 120 },
    { what: "first import pandas, ms", got: of("first import pandas"), limit: 1_500 },
    { what: "32 MiB in, MB/s", got: of("32 MiB in"), limit: 24, wanted: "above" as const },
    { what: "32 MiB out, MB/s", got: of("32 MiB out"), limit: 24, wanted: "above" as const },
    // With its warm kernel.
    { what: "idle PSS, MiB", got: of("idle PSS"), limit: 90 },
    { what: "idle CPU, %", got: of("idle CPU"), limit: 1 },
  ];
  for (const goal of goals) if (!Number.isNaN(goal.got)) report.goal({ ...goal, unit: "" });
}

async function repeat(n: number, measure: (at: number) => Promise<number>): Promise<number[]> {
  const samples: number[] = [];
  for (let at = 0; at < n; at += 1) samples.push(await measure(at));
  return samples;
}

/** A create on a host whose cache has the image and no template. */
async function miss(): Promise<number> {
  const cache = tempFolder();
  const own = cacheDirOf(process.env);
  await mkdir(join(cache, "templates"));
  for (const part of ["images", "layers"]) await symlink(join(own, part), join(cache, part));
  await cp(join(own, "accelerator.json"), join(cache, "accelerator.json"));
  const host = await VmHost.start({ SVC_CACHE_DIR: cache });
  const { ms } = await host.firstExec("miss");
  await host.stop();
  return ms;
}

async function warm(n: number): Promise<number[]> {
  const host = await VmHost.start({ SVC_WARM_VM: "1" });
  const samples = await repeat(n, async (at) => {
    await host.gateway.beat((beat) => beat.warm === 1);
    const { how, ms } = await host.firstExec(`warm-${at}`);
    if (how !== "warm") throw new Error(`a warm machine was ${how}`);
    await host.end(`warm-${at}`);
    return ms;
  });
  await host.stop();
  return samples;
}

async function clones(n: number): Promise<number[]> {
  return withMachine((host) =>
    repeat(n, async (at) => {
      const { ms } = await host.firstExec(`clone-${at}`);
      await host.end(`clone-${at}`);
      return ms;
    }),
  );
}

/** Imports pandas in clones of a machine, once in each: how long a program waits that begins with it. */
async function imports(n: number): Promise<number[]> {
  return withMachine((host) =>
    repeat(n, async (at) => {
      await host.firstExec(`import-${at}`);
      const ms = await timed(() => host.exec(`import-${at}`, "python3", ["-c", "import pandas"]));
      await host.end(`import-${at}`);
      return ms;
    }),
  );
}

async function bursts(n: number): Promise<number[]> {
  return withMachine((host) =>
    repeat(n, async (round) => {
      const ids = Array.from({ length: AT_ONCE }, (_, at) => `burst-${round}-${at}`);
      const began = performance.now();
      await Promise.all(ids.map((id) => host.firstExec(id)));
      const ms = performance.now() - began;
      await Promise.all(ids.map((id) => host.end(id)));
      return ms;
    }),
  );
}

function execs(host: VmHost, id: string, n: number): Promise<number[]> {
  return repeat(n * EXECS_PER_N, () => timed(() => host.exec(id, "/bin/true")));
}

async function transfers(host: VmHost, id: string, n: number): Promise<Found> {
  const bytes = new Uint8Array(randomBytes(BYTES));
  const path = `/vms/${id}/files?path=/root/transfer`;
  const rate = (ms: number): number => BYTES / 1e3 / ms;
  const found: Found = { "32 MiB in": [], "32 MiB out": [] };
  for (let at = 0; at < n; at += 1) {
    found["32 MiB in"]?.push(rate(await timed(() => host.call("PUT", path, id, bytes))));
    found["32 MiB out"]?.push(
      rate(
        await timed(async () => {
          const got = await host.call("GET", path, id);
          if (!Buffer.from(got).equals(bytes)) throw new Error("other bytes came back");
        }),
      ),
    );
  }
  return found;
}

const idleOf = ({ pssMib, cpuPct }: Idle): Found => ({ "idle PSS": pssMib, "idle CPU": cpuPct });

/** A host with a template, and a machine that has run a command. */
async function withMachine<Result>(
  use: (host: VmHost, id: string) => Promise<Result>,
): Promise<Result> {
  const host = await VmHost.start();
  await host.template();
  await host.firstExec("one");
  const result = await use(host, "one");
  await host.stop();
  return result;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
