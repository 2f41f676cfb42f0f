import { SnapshotTaken } from "@svc/contract/host-protocol/vm-states.ts";
import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { median, summaryText } from "../report/stats.ts";
import { VmHost } from "./host.ts";
import { cpuMs, machinesOf } from "./idle.ts";

const DEFAULT_N = 10;
const AT_ONCE = 4;
const PARKED_MS = 3_000;
const LITTLE = { id: "little", name: "40 MB of 512", megabytes: 40, size: { memMb: 512 } };
const WIDE = { id: "wide", name: "40 MB of 2048", megabytes: 40, size: { memMb: 2048 } };
/** 400 MB do not fit beside a system in 512. */
const MUCH = { id: "much", name: "400 MB of 2048", megabytes: 400, size: { memMb: 2048 } };

/** Samples by what they are of, in ms. */
type Found = Record<string, number[]>;
type Way = "delta" | "stream";

/** A host that saves machines one way, with a machine whose memory holds so much that its template has not. */
class Contestant {
  readonly found: Found = {};
  readonly #host: VmHost;
  readonly #way: Way;
  #count = 0;

  private constructor(host: VmHost, way: Way) {
    this.#host = host;
    this.#way = way;
  }

  static async start(way: Way): Promise<Contestant> {
    return new Contestant(await VmHost.start({ SVC_VM_SAVE: way }), way);
  }

  async place({ id, megabytes, size }: typeof LITTLE): Promise<void> {
    await this.#host.template(size);
    await this.#host.place(id, size);
    const hold = `import os, time; x = os.urandom(${megabytes} << 20); open("/run/held", "w"); time.sleep(9999)`;
    const line = `setsid python3 -c '${hold}' >/dev/null 2>&1 & while [ ! -e /run/held ]; do sleep 0.1; done`;
    await this.#host.exec(id, "sh", ["-c", line]);
  }

  end({ id }: typeof LITTLE): Promise<void> {
    return this.#host.end(id);
  }

  stop(): Promise<void> {
    return this.#host.stop();
  }

  /** What the host said, for a fault. */
  get output(): string {
    return this.#host.program.output.slice(-2_000);
  }

  /** One pause, and the resume to its first command's answer. */
  async cycle({ id, name }: typeof LITTLE): Promise<void> {
    await this.#time(`pause, ${name}`, () => this.#act(id, "pause"));
    await this.#time(`resume to first exec, ${name}`, async () => {
      await this.#act(id, "resume");
      await this.#host.exec(id, "/bin/true");
    });
  }

  /** One live snapshot, a fork of it to its first command's answer, and four at once. */
  async forks({ id, name }: typeof LITTLE): Promise<void> {
    this.#count += 1;
    const snapshotId = `snap-${this.#count}`;
    const bytes = await this.#act(id, "snapshot", { snapshotId });
    const { stoppedMs } = SnapshotTaken.parse(JSON.parse(Buffer.from(bytes).toString()));
    this.#keep(`live snapshot, guest stopped, ${name}`, stoppedMs);
    await this.#time(`fork to first exec, ${name}`, () => this.#fork("fork-0", snapshotId));
    await this.#host.end("fork-0");
    const ids = Array.from({ length: AT_ONCE }, (_, at) => `fork-${at}`);
    await this.#time(`${AT_ONCE} forks at once, all, ${name}`, () =>
      Promise.all(ids.map((fork) => this.#fork(fork, snapshotId))),
    );
    await Promise.all(ids.map((fork) => this.#host.end(fork)));
    await this.#host.call("DELETE", `/snapshots/${snapshotId}`, snapshotId);
  }

  /** From a request to a parked machine to its answer: the first bytes of a file, and a command. */
  async wakes({ id }: typeof LITTLE): Promise<void> {
    const file = `/vms/${id}/files?path=/etc/hostname`;
    await this.#act(id, "park");
    await this.#time("wake to a file's bytes", () => this.#host.call("GET", file, id));
    await this.#act(id, "park");
    await this.#time("wake to a command's end", () => this.#host.exec(id, "/bin/true"));
  }

  /** What the process of a parked machine takes of a processor, in percent. */
  async parked({ id }: typeof LITTLE): Promise<number> {
    await this.#act(id, "park");
    const [pid = 0] = machinesOf(this.#host.program.pid);
    const before = cpuMs(pid);
    await new Promise((resolve) => setTimeout(resolve, PARKED_MS));
    return (100 * (cpuMs(pid) - before)) / PARKED_MS;
  }

  async #fork(id: string, snapshotId: string): Promise<void> {
    const source = { type: "snapshot", id: snapshotId, recordPath: "" };
    const size = { cpu: 2, memMb: 512, diskGb: 4 };
    const body = { kind: "sandbox", source, isolation: "dedicated", envs: {}, ...size };
    await this.#host.call("PUT", `/vms/${id}`, id, JSON.stringify(body));
    await this.#host.exec(id, "/bin/true");
  }

  #act(id: string, act: string, body = {}): Promise<Uint8Array> {
    return this.#host.call("POST", `/vms/${id}/${act}`, id, JSON.stringify(body));
  }

  async #time(what: string, work: () => Promise<unknown>): Promise<void> {
    const began = performance.now();
    await work();
    this.#keep(what, performance.now() - began);
  }

  #keep(what: string, ms: number): void {
    (this.found[`${this.#way}: ${what}`] ??= []).push(ms);
  }
}

interface Plan {
  report: Report;
  n: number;
  loads: (typeof LITTLE)[];
}

/** States of machines: ours against the whole memory as QEMU's own stream, turn by turn. */
export async function benchVmStates(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const named = options.words.slice(1);
  const loads = [LITTLE, WIDE, MUCH].filter(({ id }) => named.length === 0 || named.includes(id));
  const report = new Report(`states of machines, n = ${n}`);
  const [ours, whole] = [await Contestant.start("delta"), await Contestant.start("stream")];
  const rounds = run({ report, n, loads }, ours, whole);
  await rounds.catch(() => console.error(ours.output, whole.output));
  await rounds;
  for (const one of [ours, whole]) await one.stop();
  judge(report, { ...ours.found, ...whole.found });
  report.finish(options.json);
}

async function run({ report, n, loads }: Plan, ours: Contestant, whole: Contestant) {
  for (const load of loads) {
    for (const one of [ours, whole]) await one.place(load);
    for (let round = 0; round < n; round += 1)
      for (const one of [ours, whole]) await one.cycle(load);
    if (load === LITTLE) {
      for (let round = 0; round < n; round += 1) await ours.forks(load);
      for (let round = 0; round < n; round += 1) await ours.wakes(load);
      const pct = await ours.parked(load);
      report.goal({ what: "parked, of a processor", got: pct, limit: 0, unit: "%" });
    }
    for (const one of [ours, whole]) await one.end(load);
  }
}

function judge(report: Report, found: Found): void {
  const rows = Object.entries(found);
  report.table(
    "ms: median (p95 / p99)",
    ["", "n", "median (p95 / p99)"],
    rows.map(([name, samples]) => [name, samples.length, summaryText(samples)]),
  );
  report.keep("samples", found);
  const of = (name: string): number => median(found[name] ?? []);
  const bound = (what: string, limit: number) =>
    report.goal({ what, got: of(`delta: ${what}`), limit, unit: "ms" });
  for (const { name } of [LITTLE, WIDE]) {
    const resume = `resume to first exec, ${name}`;
    if (!found[`delta: ${resume}`]) continue;
    bound(resume, 700);
    const got = of(`delta: ${resume}`) / of(`stream: ${resume}`);
    report.goal({ what: "the same / full migration's restore", got, limit: 0.6, unit: "x" });
    bound(`pause, ${name}`, 500);
  }
  if (!found["delta: wake to a file's bytes"]) return;
  bound(`live snapshot, guest stopped, ${LITTLE.name}`, 150);
  bound(`fork to first exec, ${LITTLE.name}`, 800);
  bound(`${AT_ONCE} forks at once, all, ${LITTLE.name}`, 3_000);
  bound("wake to a file's bytes", 60);
}
