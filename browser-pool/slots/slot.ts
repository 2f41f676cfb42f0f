import { chmod, chown, mkdir, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Cgroups, removeGroups } from "@svc/host-kit/cgroups.ts";
import { messageOf } from "@svc/host-kit/log.ts";
import { CdpMux } from "./cdp/mux.ts";
import { CdpPipe } from "./cdp/pipe.ts";
import type { Allowance } from "./egress/allowance.ts";
import { Forwarder } from "./egress/forwarder.ts";
import { FIRST_SLOT_UID, type Fitness } from "./launch/fitness.ts";
import { fastFlags } from "./launch/flags.ts";
import { SandboxedProcess } from "./launch/process.ts";
import { EGRESS_SOCKET, PROXY_PORT, sandboxed } from "./launch/sandbox.ts";
import { SLOT_CAPS } from "./machine.ts";
import { type StoredState, isCookiesOnly } from "./profile.ts";
import { WireHosts } from "./wire/hosts.ts";
import { egressOf, filesOf, newKey, rootOf } from "./wire/layout.ts";
import type { Playwrights } from "./wire/playwrights.ts";

/** Ends a launch that hangs. One on a small, busy machine takes a third of it, and is no failure. */
const LAUNCH_MS = 60_000;
/** Longer than a browser that is over takes to end on a busy machine. */
const ENDING_MS = 10_000;

/** What every slot of a pool is made from. */
export interface SlotPlan {
  fitness: Fitness;
  /** The run's folder: slots get folders in it. */
  folder: string;
  cgroups: Cgroups | null;
  allowance: Allowance;
  playwrights: Playwrights;
}

/** The parts of a slot that need an end. */
interface Parts {
  folder: string;
  /** The folder of files of uploads and downloads, and the way out for API requests. */
  shared: { files: string; egress: string };
  forwarder: Forwarder;
  cgroups: string[];
  process: SandboxedProcess | null;
}

/** One warm or used browser: never more than one session, then it is gone. */
export class Slot {
  /** Counts the launches of this run; names the slot in log lines. */
  readonly number: number;
  /** Its place in the pool, from which it has its uid. */
  readonly place: number;
  readonly pipe: CdpPipe;
  readonly mux: CdpMux;
  readonly wire: WireHosts;
  /** Resolves when the browser has died, by itself or by `close`. */
  readonly died: Promise<void>;
  readonly #parts: Parts;
  #closing: Promise<void> | null = null;

  constructor(number: number, place: number, parts: Parts, browser: Browser) {
    this.number = number;
    this.place = place;
    this.#parts = parts;
    this.pipe = browser.pipe;
    this.mux = browser.mux;
    this.wire = browser.wire;
    this.died = browser.died;
  }

  /** The pid of the slot's outermost process. */
  get pid(): number | null {
    return this.#parts.process?.pid ?? null;
  }

  /** Gives the default context a stored state. Rejects when it is none or takes too long; the browser is of no use then. */
  async seed(state: StoredState, limitMs: number): Promise<void> {
    const died = this.died.then(() => Promise.reject(new Error("the browser died")));
    const { cookies } = state;
    const isSet = isCookiesOnly(state)
      ? this.mux.call("Storage.setCookies", { cookies })
      : this.wire.seed(state);
    await within<unknown>(limitMs, isSet, died);
  }

  /** Lets the browser out: it has a session now. */
  open(): void {
    this.#parts.forwarder.open();
  }

  /** Ends the browser and removes all that belongs to it. */
  close(): Promise<void> {
    this.#closing ??= remove(this.#parts);
    return this.#closing;
  }
}

/** The browser's own words tell why. */
class EarlyEnd extends Error {}

interface Browser {
  pipe: CdpPipe;
  mux: CdpMux;
  wire: WireHosts;
  died: Promise<void>;
}

/** Starts a browser and gets it ready for a session; removes everything again when it does not start. */
export async function launchSlot(
  plan: SlotPlan,
  number: number,
  place: number,
  signal: AbortSignal,
): Promise<Slot> {
  const folder = join(plan.folder, String(number));
  const key = newKey();
  const root = rootOf(plan.folder);
  const shared = { files: filesOf(root, key), egress: egressOf(root, key) };
  const forwarder = new Forwarder(plan.allowance);
  const parts: Parts = { folder, shared, forwarder, cgroups: [], process: null };
  const abort = (): void => void parts.process?.kill();
  signal.addEventListener("abort", abort);
  try {
    await start(plan, parts, place);
    signal.throwIfAborted();
    if (!parts.process) throw new Error("no browser was started");
    const browser = await connect(parts.process, plan.playwrights, key);
    return new Slot(number, place, parts, browser);
  } catch (error) {
    const words = error instanceof EarlyEnd && parts.process && (await endingOf(parts.process));
    await remove(parts);
    throw new Error(words || messageOf(error), { cause: error });
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** How a browser ended before it was ready: the signal, and the first of its words that is not about a missing bus. */
async function endingOf(browser: SandboxedProcess): Promise<string> {
  // Its pipe closes a moment before its end is known; ended from here it would seem to have been killed.
  await Promise.race([browser.exited, pause(ENDING_MS)]);
  const lines = browser.lastWords.split("\n").filter((line) => !line.includes("/dbus/"));
  const { killedBy } = browser;
  if (killedBy === "SIGKILL") return "it was killed (SIGKILL) while it started";
  return [killedBy, lines[0]].filter(Boolean).join(": ");
}

async function start(plan: SlotPlan, parts: Parts, place: number): Promise<void> {
  const { fitness, cgroups } = plan;
  const { folder } = parts;
  const uid = fitness.isolation === "uid" ? FIRST_SLOT_UID + place : null;
  await prepare(parts, uid, fitness.playwrightUid);
  if (cgroups) parts.cgroups = await cgroups.add(basename(folder), SLOT_CAPS);
  const flags = fastFlags(join(folder, "profile"), PROXY_PORT);
  const { programs } = fitness;
  const sandbox = { programs, folder, files: parts.shared.files, uid, cgroups: parts.cgroups };
  parts.process = new SandboxedProcess(
    await sandboxed(sandbox, [fitness.programs.chromium, ...flags]),
  );
}

/** Makes what the slot needs: its own folder, and what it shares with Playwright by group or by name. */
async function prepare(parts: Parts, uid: number | null, playwright: number | null): Promise<void> {
  const { folder, shared, forwarder } = parts;
  const socket = join(folder, EGRESS_SOCKET);
  for (const path of [folder, shared.files]) await mkdir(path);
  await forwarder.listen(socket, shared.egress);
  for (const path of [folder, socket]) {
    await chmod(path, 0o700);
    if (uid !== null) await chown(path, uid, uid);
  }
  const { uid: self, gid } = await stat(shared.files);
  await chown(shared.files, uid ?? self, playwright ?? gid);
  // Of the group of its folder is what either of the two makes there.
  await chmod(shared.files, 0o2770);
  if (playwright !== null) await chown(shared.egress, playwright, playwright);
}

async function connect(
  process: SandboxedProcess,
  playwrights: Playwrights,
  key: string,
): Promise<Browser> {
  const pipe = new CdpPipe(process.toInside, process.fromInside);
  let die = (): void => {};
  let isDead = false;
  const died = new Promise<void>((resolve) => (die = resolve)).then(() => void (isDead = true));
  const mux = new CdpMux(pipe, () => die());
  void process.exited.then(() => die());
  const wire = new WireHosts(playwrights, key, mux, pipe);
  // Opens the cookie store now, so that a session with a profile need not wait for it.
  const ready = Promise.all([wire.warm(), mux.call("Storage.getCookies")]);
  const failed = died.then(() => Promise.reject(new Error("the browser ended while it started")));
  try {
    await within(LAUNCH_MS, ready, failed);
  } catch (error) {
    throw isDead ? new EarlyEnd(messageOf(error)) : error;
  }
  return { pipe, mux, wire, died };
}

/** Waits for work as long as nothing has failed and it is in time. */
async function within<T>(ms: number, work: Promise<T>, failed: Promise<never>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("the browser took too long")), ms);
  });
  try {
    return await Promise.race([work, failed, late]);
  } finally {
    clearTimeout(timer);
    // It fires when this browser ends one day; nobody listens then.
    failed.catch(() => {});
  }
}

async function remove({ process, forwarder, cgroups, folder, shared }: Parts): Promise<void> {
  await process?.kill();
  forwarder.close();
  await removeGroups(cgroups);
  for (const path of [folder, shared.files, shared.egress])
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
}
