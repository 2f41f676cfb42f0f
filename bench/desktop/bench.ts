import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { WebSocket, createWebSocketStream } from "ws";
import { RfbClient } from "../../vm-host/screen/rfb-client.ts";
import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { median, summaryText } from "../report/stats.ts";
import { openControl } from "../vm/control.ts";
import { VmHost } from "../vm/host.ts";

const DEFAULT_N = 10;
const CALLS = 20;
/** How long the host may take until its golden machine is there. */
const WARM_TRIES = 120;
const TRY_MS = 5_000;
/** A desktop whose terminal has the keys: a program that writes what is typed. */
const TERMINAL = `setsid lxterminal -t keys -e cat >/dev/null 2>&1 &
until xdotool getactivewindow getwindowname 2>/dev/null | grep -q keys; do sleep 0.2; done`;

/** Samples by what they are of, in ms. */
type Found = Record<string, number[]>;
const keepIn =
  (found: Found) =>
  (name: string, ms: number): void =>
    void (found[name] ??= []).push(ms);

/** Desktops: how long until a viewer has the first picture, until a key is seen, and what the rest of `computer.*` takes. */
export async function benchDesktop(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const report = new Report(`desktops, n = ${n}`);
  const found: Found = {};
  const host = await VmHost.start({ SVC_WARM_DESKTOP: "1", SVC_BUILD_IMAGES: "0" });
  try {
    await host.gateway.beat(({ capabilities }) => capabilities.includes("desktop"));
    for (let at = 0; at < n; at += 1) await create(host, `desktop-${at}`, found);
    await use(host, "desktop-used", found);
  } finally {
    await host.stop();
  }
  report.table(
    "ms: median (p95 / p99)",
    ["", "n", "median (p95 / p99)"],
    Object.entries(found).map(([name, samples]) => [name, samples.length, summaryText(samples)]),
  );
  for (const [what, limit] of [
    ["create to first frame", 1_200],
    ["key to changed picture", 120],
    ["screenshot, png", 250],
  ] as const)
    report.goal({ what: `${what}, ms`, got: median(found[what] ?? []), limit, unit: "" });
  report.keep("samples", found);
  report.finish(options.json);
}

/** A create that takes a warm desktop, until its viewer has a whole picture. */
async function create(host: VmHost, id: string, found: Found): Promise<void> {
  for (let tries = 0; tries < WARM_TRIES; tries += 1) {
    const startedAt = performance.now();
    const { how } = await host.placeDesktop(id);
    const placedMs = performance.now() - startedAt;
    const viewer = await view(host, id);
    await viewer.capture();
    const ms = performance.now() - startedAt;
    viewer.close();
    await host.end(id);
    if (how === "warm") {
      keepIn(found)("create", placedMs);
      return keepIn(found)("create to first frame", ms);
    }
    await wait(TRY_MS);
  }
  throw new Error(`no warm desktop: ${host.program.output.slice(-2_000)}`);
}

async function use(host: VmHost, id: string, found: Found): Promise<void> {
  const keep = keepIn(found);
  const time = async (name: string, act: () => Promise<unknown>): Promise<void> => {
    const startedAt = performance.now();
    await act();
    keep(name, performance.now() - startedAt);
  };
  await host.placeDesktop(id);
  await host.exec(id, "sh", ["-c", TERMINAL]);
  const { client, socket } = await openControl(host, id);
  const picture = (format: "png" | "jpeg") => async () =>
    client.call("computer.screenshot", { format }, { onBytes: () => {} }).result;
  for (let call = 0; call < CALLS; call += 1) {
    await keyToPicture(host, id, keep);
    await time("screenshot, png", picture("png"));
    await time("screenshot, jpeg", picture("jpeg"));
    await time("click", () => client.ask("computer.click", { x: 640, y: 300 }));
    await time("clipboard, set", () => client.ask("computer.clipboardSet", { text: "text" }));
    await time("clipboard, get", () => client.ask("computer.clipboardGet", {}));
    await time("windows", () => client.ask("computer.windows", {}));
  }
  socket.terminate();
  await host.end(id);
}

/** A viewer presses a key, and sees what a program of the desktop writes. */
async function keyToPicture(
  host: VmHost,
  id: string,
  keep: (name: string, ms: number) => void,
): Promise<void> {
  const viewer = await view(host, id);
  await viewer.capture();
  const startedAt = performance.now();
  const change = viewer.change();
  viewer.key(0x78, true);
  viewer.key(0x78, false);
  await change;
  keep("key to changed picture", performance.now() - startedAt);
  viewer.close();
}

async function view(host: VmHost, id: string): Promise<RfbClient> {
  const { url, headers } = await host.socket(id, "stream");
  const socket = new WebSocket(url, ["binary"], { headers });
  // Before it is open: the first words of the screen may come with the answer.
  const stream = createWebSocketStream(socket);
  await once(socket, "open");
  return RfbClient.open(stream);
}
