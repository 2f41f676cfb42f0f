import { chmod, chown, mkdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { Cgroups } from "@svc/host-kit/cgroups.ts";
import { inTime } from "@svc/host-kit/deadline.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { isObject } from "../cdp/envelope.ts";
import { CdpMux } from "../cdp/mux.ts";
import { CdpPipe } from "../cdp/pipe.ts";
import type { Allowance } from "../egress/allowance.ts";
import { Forwarder } from "../egress/forwarder.ts";
import { PlainWire } from "../egress/plain-wire.ts";
import { DOWNLOADS_AT, Downloads, withDownloads } from "../files/downloads.ts";
import { SHOWN_AT, SessionFiles, shownOf } from "../files/session-files.ts";
import { SLOT_CAPS } from "../launch/caps.ts";
import { FIRST_SLOT_UID, type Fitness } from "../launch/fitness.ts";
import { fastFlags, headedFlags } from "../launch/flags.ts";
import { SandboxedProcess } from "../launch/process.ts";
import { PROXY_PORT, openDoor } from "../launch/door.ts";
import { sandboxed } from "../launch/sandbox.ts";
import { onScreen, withPreferences } from "../launch/screen.ts";
import { egressOf, filesOf, newKey, rootOf } from "../playwrights/folders.ts";
import type { PlaywrightProcesses } from "../playwrights/processes.ts";
import { SlotPlaywrights } from "../playwrights/slot-playwrights.ts";
import { STEALTH_ENVIRONMENT } from "../stealth/flags.ts";
import { Shim } from "../stealth/shim.ts";
import { inBrowser } from "../launch/in-browser.ts";
import { VisitedOrigins } from "../profiles/visited.ts";
import { type Browser, Slot, type SlotParts, removeSlot } from "./slot.ts";

/** Ends a launch that hangs. A sound launch on a small, busy computer takes up to a third of it. */
const LAUNCH_MS = 60_000;
/** Longer than a browser that is over takes to end on a busy computer. */
const ENDING_MS = 10_000;

/** Launches a slot at this place of the pool. */
export type LaunchSlot = (index: number, signal: AbortSignal) => Promise<Slot>;

/** The parts that every slot of a kind is launched with. */
export interface SlotPlan {
  fitness: Fitness;
  /** The program that makes screens: the slot is of kind `stealth`. Absent: of kind `fast`. */
  xvfb?: string;
  /** The run's folder: slots get folders in it. */
  folder: string;
  cgroups: Cgroups | null;
  allowance: Allowance;
  playwrights: PlaywrightProcesses;
  log: Log;
}

const kindOf = ({ xvfb }: SlotPlan): BrowserKind => (xvfb ? "stealth" : "fast");

/** The browser ended before it was ready: its last words say why. */
class EarlyEnd extends Error {}

/** Starts a browser and gets it ready for a session; removes everything again when it does not start. */
export async function launchSlot(
  plan: SlotPlan,
  number: number,
  index: number,
  signal: AbortSignal,
): Promise<Slot> {
  const folder = join(plan.folder, String(number));
  const key = newKey();
  const root = rootOf(plan.folder);
  const shared = { files: filesOf(root, key), egress: egressOf(root, key) };
  const forwarder = new Forwarder(plan.allowance);
  const kept = `${folder}-files`;
  const files = new SessionFiles(kept, shared.files);
  const parts: SlotParts = { folder, shared, kept, files, forwarder, cgroups: [], process: null };
  const abort = (): void => void parts.process?.kill();
  signal.addEventListener("abort", abort);
  try {
    const browser = await start(plan, parts, index);
    signal.throwIfAborted();
    const [connected] = await Promise.all([
      connect(browser, plan, key, parts),
      openWayOut(plan, browser, forwarder, number),
    ]);
    return new Slot({ number, index, kind: kindOf(plan) }, parts, connected);
  } catch (error) {
    const words = error instanceof EarlyEnd && parts.process && (await endingOf(parts.process));
    await removeSlot(parts);
    throw new Error(words || messageOf(error), { cause: error });
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** How a browser ended before it was ready: the signal, and the first line of its output that is not about a missing bus. */
async function endingOf(browser: SandboxedProcess): Promise<string> {
  // Its pipe closes a moment before its end is known; ended from here it would seem to have been killed.
  await inTime(browser.exited, ENDING_MS);
  const lines = browser.lastWords.split("\n").filter((line) => !line.includes("/dbus/"));
  const { killedBy } = browser;
  if (killedBy === "SIGKILL") return "it was killed (SIGKILL) while it started";
  return [killedBy, lines[0]].filter(Boolean).join(": ");
}

async function start(plan: SlotPlan, parts: SlotParts, index: number): Promise<SandboxedProcess> {
  const { fitness, cgroups } = plan;
  const { folder } = parts;
  const uid = fitness.isolation === "uid" ? FIRST_SLOT_UID + index : null;
  await prepare(parts, uid, fitness.playwrightUid);
  if (cgroups) parts.cgroups = await cgroups.add(basename(folder), SLOT_CAPS);
  const { programs } = fitness;
  const { kept, shared } = parts;
  const own = {
    folder,
    files: shared.files,
    writes: { [DOWNLOADS_AT]: shared.files },
    reads: { [SHOWN_AT]: shownOf(kept) },
  };
  const sandbox = { programs, ...own, uid, cgroups: parts.cgroups };
  parts.process = new SandboxedProcess(await sandboxed(sandbox, browserCommand(plan, folder)));
  return parts.process;
}

function browserCommand({ fitness, xvfb }: SlotPlan, folder: string): string[] {
  const { chromium } = fitness.programs;
  const profile = join(folder, "profile");
  if (!xvfb) return [chromium, ...fastFlags(profile, PROXY_PORT)];
  const variables = Object.entries(STEALTH_ENVIRONMENT).map(([name, value]) => `${name}=${value}`);
  const command = ["/usr/bin/env", ...variables, chromium, ...headedFlags(profile, PROXY_PORT)];
  return onScreen(xvfb, withPreferences(profile, command));
}

/** Lets the forwarder listen, and answer for names, in the network of the browser. */
async function openWayOut(
  { fitness, log }: SlotPlan,
  browser: SandboxedProcess,
  forwarder: Forwarder,
  slot: number,
): Promise<void> {
  const onFlood = (): void => log.warn({ slot }, "names_flooded");
  const { server, names } = await openDoor(fitness.programs.nsenter, await browser.begun);
  forwarder.serve(server);
  forwarder.resolve(names, onFlood);
}

/** Makes what the slot needs: its own folder, and what it shares with Playwright by group or by name. */
async function prepare(
  parts: SlotParts,
  uid: number | null,
  playwright: number | null,
): Promise<void> {
  const { folder, shared, forwarder } = parts;
  for (const path of [folder, shared.files]) await mkdir(path);
  await parts.files.prepare();
  await forwarder.listen(shared.egress);
  await chmod(folder, 0o700);
  if (uid !== null) await chown(folder, uid, uid);
  const { uid: self, gid } = await stat(shared.files);
  await chown(shared.files, uid ?? self, playwright ?? gid);
  // Files that browser or Playwright make there belong to the group of the folder.
  await chmod(shared.files, 0o2770);
  if (playwright !== null) await chown(shared.egress, playwright, playwright);
}

async function connect(
  process: SandboxedProcess,
  plan: SlotPlan,
  key: string,
  { forwarder, shared, files }: SlotParts,
): Promise<Browser> {
  const pipe = new CdpPipe(process.toInside, process.fromInside);
  const end = Promise.withResolvers<void>();
  let isDead = false;
  const died = end.promise.then(() => void (isDead = true));
  const wire = withDownloads(new PlainWire(forwarder), shared.files);
  const mux = new CdpMux(pipe, end.resolve, wire);
  void process.exited.then(end.resolve);
  const playwrights = new SlotPlaywrights(plan.playwrights, { key, kind: kindOf(plan) }, mux, pipe);
  try {
    const visited = await inBrowser(prepared(mux, files), LAUNCH_MS, died);
    const shim = plan.xvfb ? await inBrowser(unmark(mux, plan), LAUNCH_MS, died) : null;
    // Pages see an attached Playwright: nothing attaches to a stealth browser before a client asks for it.
    if (!plan.xvfb) await inBrowser(playwrights.prove(), LAUNCH_MS, died);
    return { pipe, mux, playwrights, visited, shim, died };
  } catch (error) {
    throw isDead ? new EarlyEnd(messageOf(error)) : error;
  }
}

/** Before any other client attaches: what others call comes after the calls of the shim then. */
function unmark(mux: CdpMux, { playwrights: { log } }: SlotPlan): Promise<Shim> {
  return Shim.start(mux, (reason) => log.warn({ reason }, "override_refused"));
}

async function prepared(mux: CdpMux, files: SessionFiles): Promise<VisitedOrigins> {
  // The cookie store is opened so that a session with a profile need not wait for it.
  const opened = mux.call("Storage.getCookies");
  await Promise.all([ensurePage(mux), opened, Downloads.start(mux, files)]);
  return VisitedOrigins.start(mux);
}

/** Every new session has a page. Some Chromiums start with one. */
async function ensurePage(mux: CdpMux): Promise<void> {
  const { targetInfos } = await mux.call("Target.getTargets");
  const targets: unknown[] = Array.isArray(targetInfos) ? targetInfos : [];
  if (!targets.some((target) => isObject(target) && target.type === "page"))
    await mux.call("Target.createTarget", { url: "about:blank" });
}
