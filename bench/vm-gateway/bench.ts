import { randomBytes } from "node:crypto";
import { load } from "../gateway/load.ts";
import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { median, summaryText } from "../report/stats.ts";
import { Bed } from "./bed.ts";
import { GUEST_SERVER, idleSocket, previewGet } from "./preview.ts";

const DEFAULT_N = 6;
const RECORDS = 1_000;
const READS = 300;
const EXECS_PER_N = 5;
const BYTES = 32 * 1024 * 1024;
const IDLE_MINUTES = 10;

/** Samples by what they are of. */
type Found = Record<string, number[]>;

/** What the gateway adds to its host: each thing is asked of both in turns. */
export async function benchVmGateway(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const report = new Report(`VM gateway over its host, n = ${n}, ${RECORDS} records`);
  const bed = await Bed.start(options.idle ? 1 : RECORDS);
  const found: Found = {};
  if (options.idle) await idle(bed, report);
  else {
    await reads(bed, found);
    await creates(bed, found, n);
    const { sandboxId: id } = await bed.create();
    await execs(bed, found, id, n * EXECS_PER_N);
    await previews(bed, found, id, n * EXECS_PER_N);
    await transfers(bed, found, id, n);
    report.table(
      "ms; MiB of workerd: median (p95 / p99)",
      ["", "n", "median (p95 / p99)"],
      Object.entries(found).map(([name, samples]) => [name, samples.length, summaryText(samples)]),
    );
    judge(report, found);
  }
  report.keep("samples", found);
  report.finish(options.json);
}

function judge(report: Report, found: Found): void {
  const of = (name: string): number => median(found[name] ?? []);
  const over = (name: string): number => of(`${name}, gateway`) - of(`${name}, host`);
  const ratio = (name: string): number => of(`${name}, gateway`) / of(`${name}, host`);
  report.goal(
    { what: "create, gateway / host", got: ratio("create"), limit: 1.3, unit: "" },
    { what: "GET /sandboxes/:id, p50", got: of("GET one"), limit: 5, unit: "ms" },
    { what: "GET /sandboxes, p50", got: of("GET list"), limit: 5, unit: "ms" },
    { what: "exec over the host's", got: over("exec"), limit: 15, unit: "ms" },
    { what: "preview GET over the host's", got: over("preview GET"), limit: 25, unit: "ms" },
    // Rates are the other way round than times.
    {
      what: "download, rate / host's",
      got: 1 / ratio("download"),
      limit: 0.8,
      unit: "",
      wanted: "above",
    },
    {
      what: "upload, rate / host's",
      got: 1 / ratio("upload"),
      limit: 0.8,
      unit: "",
      wanted: "above",
    },
    {
      what: "growth of workerd",
      got: Math.max(...(found["growth of workerd"] ?? [])),
      limit: 16,
      unit: "MiB",
    },
  );
}

async function reads({ gateway, key }: Bed, found: Found): Promise<void> {
  const list = new URL("/sandboxes", gateway.url).href;
  const answer = await fetch(list, { headers: { authorization: `Bearer ${key}` } });
  const { sandboxes } = (await answer.json()) as { sandboxes: { sandboxId: string }[] };
  const one = `${list}/${sandboxes[0]?.sandboxId}`;
  for (const [name, url] of [
    ["GET one", one],
    ["GET list", list],
  ] as const) {
    await load(url, key, { connections: 1, count: READS / 3 });
    const { ms, failures } = await load(url, key, { connections: 1, count: READS });
    if (failures > 0) throw new Error(`${failures} of ${name} failed`);
    found[name] = ms;
  }
}

async function creates(bed: Bed, found: Found, n: number): Promise<void> {
  const source = { type: "image", name: "base" };
  const size = { cpu: 2, memMb: 2048, diskGb: 4 };
  const body = JSON.stringify({
    kind: "sandbox",
    source,
    isolation: "dedicated",
    envs: {},
    ...size,
  });
  await each(found, "create", n, {
    host: async (at) => {
      const id = `straight-${at}`;
      await bed.warm();
      const ms = await timed(() => bed.host("PUT", "", id, body));
      await bed.host("DELETE", "", id);
      return ms;
    },
    gateway: async () => {
      await bed.warm();
      let id = "";
      const ms = await timed(async () => (id = (await bed.create()).sandboxId));
      await bed.customer("DELETE", `/sandboxes/${id}`);
      return ms;
    },
  });
}

async function execs(bed: Bed, found: Found, id: string, n: number): Promise<void> {
  const body = JSON.stringify({ cmd: "/bin/true" });
  await each(found, "exec", n, {
    host: () => timed(() => bed.host("POST", "/exec", id, body)),
    gateway: () => timed(() => bed.customer("POST", `/sandboxes/${id}/exec`, body)),
  });
}

async function previews(bed: Bed, found: Found, id: string, n: number): Promise<void> {
  await serveInside(bed, id);
  const preview = await previewGet(bed, id);
  await each(found, "preview GET", n, {
    host: () => timed(() => bed.host("GET", "/ports/8000/", id)),
    gateway: () => timed(preview),
  });
}

async function transfers(bed: Bed, found: Found, id: string, n: number): Promise<void> {
  const bytes = new Uint8Array(randomBytes(BYTES));
  const path = "/root/transfer";
  const signed = async (mode: string): Promise<string> => {
    const answer = await bed.customer("GET", `/sandboxes/${id}/files/${mode}-url?path=${path}`);
    return (JSON.parse(Buffer.from(answer).toString()) as { url: string }).url;
  };
  const [up, down] = [await signed("upload"), await signed("download")];
  const before = bed.workerdMib();
  await each(found, "upload", n, {
    host: () => timed(() => bed.host("PUT", `/files?path=${path}`, id, bytes)),
    gateway: () => timed(() => bed.customer("PUT", up, bytes)),
  });
  const whole = async (got: Promise<Uint8Array>): Promise<void> => {
    if (!Buffer.from(await got).equals(bytes)) throw new Error("other bytes came back");
  };
  await each(found, "download", n, {
    host: () => timed(() => whole(bed.host("GET", `/files?path=${path}`, id))),
    gateway: () => timed(() => whole(bed.customer("GET", down))),
  });
  found["growth of workerd"] = [bed.workerdMib() - before];
}

/** A preview's WebSocket that carries nothing for ten minutes, and then an echo. */
async function idle(bed: Bed, report: Report): Promise<void> {
  const { sandboxId: id } = await bed.create();
  await serveInside(bed, id);
  const echoed = await idleSocket(bed, id, IDLE_MINUTES * 60_000);
  report.goal({
    what: `echo after ${IDLE_MINUTES} idle minutes`,
    got: echoed ? 1 : 0,
    limit: 1,
    unit: "",
    wanted: "above",
  });
}

async function serveInside(bed: Bed, id: string): Promise<void> {
  const line =
    "setsid python3 /root/server.py >/dev/null 2>&1 & until nc -z 127.0.0.1 8000 2>/dev/null || python3 -c \"import socket;socket.create_connection(('127.0.0.1',8000))\" 2>/dev/null; do sleep 0.2; done";
  await bed.host("PUT", "/files?path=/root/server.py", id, Buffer.from(GUEST_SERVER));
  await bed.host("POST", "/exec", id, JSON.stringify({ cmd: "sh", args: ["-c", line] }));
}

/** Measures the two ways in turns, so that both meet the same noise. */
async function each(
  found: Found,
  name: string,
  n: number,
  ways: Record<"host" | "gateway", (at: number) => Promise<number>>,
): Promise<void> {
  const host: number[] = (found[`${name}, host`] = []);
  const gateway: number[] = (found[`${name}, gateway`] = []);
  // The first of each opens connections.
  await ways.host(-1);
  await ways.gateway(-1);
  for (let at = 0; at < n; at += 1) {
    host.push(await ways.host(at));
    gateway.push(await ways.gateway(at));
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
