import { setTimeout as pause } from "node:timers/promises";
import { residentMib } from "../machine/memory.ts";
import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { summarize, summaryText } from "../report/stats.ts";
import { VmHost } from "../vm/host.ts";
import { TAKEOVER } from "./takeover.ts";
import { WORDS } from "./words.ts";

const DEFAULT_ROUNDS = 3;
const WINDOW_MS = 5_000;
const EVERY_MS = 100;
const LOOK_MS = 100;
const GIVEN_UP_MS = 30_000;
const LIMIT = 1.5;
const MEMORY_LIMIT_MIB = 64;
const SMALL = { memMb: 512 };
const BUILD = "a build that prints 10 MB of newlines";
const QUIET_MACHINE = "quiet";
const HOSTILE_MACHINE = "hostile";
const FILE = "/tmp/words";
const SCRIPT = "/tmp/takeover.pl";

interface Found {
  attack: string;
  quiet: number[];
  hostile: number[];
  /** The most that the host's memory grew by in an attack, in MiB. */
  grewMib: number;
}

/** Commands in one machine, in turns alone and while another machine is hostile to its host. */
export async function benchHostileGuest(options: Options): Promise<void> {
  const rounds = options.n ?? DEFAULT_ROUNDS;
  const [, only] = options.words;
  const report = new Report(
    `hostile-guest, ${rounds} rounds of ${WINDOW_MS} ms quiet and attacked`,
  );
  const host = await VmHost.start();
  await host.template(SMALL);
  await host.place(QUIET_MACHINE, SMALL);
  const names = [...Object.keys(WORDS), BUILD].filter((name) => name.includes(only ?? ""));
  const found = names.map((attack): Found => ({ attack, quiet: [], hostile: [], grewMib: 0 }));
  for (let round = 0; round < rounds; round += 1)
    // In another order each time: what a busy minute of the machine costs is not always the same row's.
    for (const one of shuffled(found)) await attacked(host, one, round);
  show(report, found);
  report.finish(options.json);
}

/** A quiet window, and one under attack. */
async function attacked(host: VmHost, one: Found, round: number): Promise<void> {
  one.quiet.push(...(await roundTrips(host)));
  const before = residentMib(host.program.pid);
  const stop = await begin(host, one.attack, round);
  const watching = mostMemory(host);
  one.hostile.push(...(await roundTrips(host)));
  one.grewMib = Math.max(one.grewMib, watching.most() - before);
  await stop();
}

function shuffled<T>(list: T[]): T[] {
  const keyed = list.map((item) => ({ item, at: Math.random() }));
  return keyed.toSorted((left, right) => left.at - right.at).map(({ item }) => item);
}

/**
 * Round trips of commands in ms, for so long. One begins every 100 ms whether the one before is back or not, so that a host
 * that stands still for a second counts as ten slow ones, and not as one.
 */
async function roundTrips(host: VmHost): Promise<number[]> {
  const trips: Promise<number>[] = [];
  const until = performance.now() + WINDOW_MS;
  while (performance.now() < until) {
    trips.push(trip(host));
    await pause(EVERY_MS);
  }
  return Promise.all(trips);
}

async function trip(host: VmHost): Promise<number> {
  const began = performance.now();
  const lost = pause(GIVEN_UP_MS, "lost", { ref: false });
  const answer = host.exec(QUIET_MACHINE, "/bin/true").catch(() => "lost");
  return (await Promise.race([answer, lost])) === "lost" ? GIVEN_UP_MS : performance.now() - began;
}

/** Begins an attack. Returns what ends it, and the machine that made it. */
async function begin(host: VmHost, attack: string, round: number): Promise<() => Promise<void>> {
  if (attack === BUILD) return beginBuild(host, `tpl_hostileguestbench${round}`);
  const id = `${HOSTILE_MACHINE}-${round}`;
  await host.place(id, SMALL);
  const put = (path: string, bytes: Uint8Array) =>
    host.call("PUT", `/vms/${id}/files?path=${path}`, id, bytes);
  await put(SCRIPT, Buffer.from(TAKEOVER));
  const words = WORDS[attack];
  if (words) await put(FILE, words);
  // Nobody waits for it: an agent whose ports are taken answers nothing.
  const file = words ? FILE : "";
  const line = `setsid perl ${SCRIPT} ${file} >/tmp/out 2>&1 & sleep 0.2`;
  await host.exec(id, "sh", ["-c", line]).catch(() => null);
  return () => host.end(id);
}

async function beginBuild(host: VmHost, id: string): Promise<() => Promise<void>> {
  const steps = [{ type: "run", cmd: "yes '' | head -c 10000000; sleep 60" }];
  const from = { type: "image", name: "base" };
  const common = { org: "org_bench", kind: "sandbox", from, skipCache: true, steps };
  const size = { cpu: 2, diskGb: 4, ...SMALL };
  await host.call("POST", `/templates/${id}`, id, JSON.stringify({ ...common, ...size }));
  const logged = async (): Promise<number> => {
    const path = `/templates/${id}?offset=1000&waitMs=1000`;
    const answer = await host.call("GET", path, id);
    const { nextOffset } = JSON.parse(Buffer.from(answer).toString());
    return Number(nextOffset);
  };
  // Its machine has to be made first: what counts begins with the newlines.
  for (let tries = 0; tries < 60 && (await logged()) <= 1_000; tries += 1) await pause(LOOK_MS);
  return async () => void (await host.call("DELETE", `/templates/${id}`, id).catch(() => null));
}

/** Looks at the host's memory until it is asked for the most. */
function mostMemory(host: VmHost): { most(): number } {
  let most = 0;
  const look = (): void => void (most = Math.max(most, residentMib(host.program.pid)));
  const timer = setInterval(look, LOOK_MS);
  return {
    most() {
      clearInterval(timer);
      look();
      return most;
    },
  };
}

function show(report: Report, found: Found[]): void {
  // All rows share one quiet: the p99 of a row's own fifty round trips is the slowest of them, and says nothing.
  const quietP99 = summarize(found.flatMap(({ quiet }) => quiet)).p99;
  report.table(
    "exec of org B: ms, median (p95 / p99); growth of the host's memory",
    ["while a guest of org A says", "quiet", "attacked", "MiB"],
    found.map(({ attack, quiet, hostile, grewMib }) => [
      attack,
      summaryText(quiet),
      summaryText(hostile),
      grewMib,
    ]),
  );
  for (const { attack, hostile, grewMib } of found)
    report.goal(
      {
        what: `${attack}: p99 / p99 of all that is quiet`,
        got: summarize(hostile).p99 / quietP99,
        limit: LIMIT,
        unit: "x",
      },
      { what: `${attack}: memory`, got: grewMib, limit: MEMORY_LIMIT_MIB, unit: "MiB" },
    );
  report.keep("hostile-guest", found);
}
