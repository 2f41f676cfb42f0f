import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { TRIAL_MS, firstExecutable, onPath, versionOf } from "./lookup.ts";
import { NOWHERE, inOwnNetwork } from "./network.ts";
import { NAMESPACES, OWN, type Programs, asUser } from "./sandbox.ts";

const run = promisify(execFile);

const CHROMIUM_PLACES = [
  "/usr/lib/chromium/chromium-headless-shell",
  "/usr/lib64/chromium-browser/headless_shell",
  "/usr/lib/chromium/chromium",
  "/usr/lib64/chromium-browser/chromium-browser",
  "/opt/google/chrome/chrome",
];
/** The first uid of slots: outside the ranges that systems give to people and to services. */
export const FIRST_SLOT_UID = 20_000;
const PLAYWRIGHT_UID = FIRST_SLOT_UID - 1;

/** How well this host can serve browsers. */
export interface Fitness {
  programs: Programs;
  /** `Chromium 156.0…`, as the program prints it. */
  version: string;
  isolation: "uid" | "shared-uid";
  /** The user that Playwright runs as; null: the user of this process. */
  playwrightUid: number | null;
  /** Whether pages take themselves for online. */
  isOnline: boolean;
}

/** Why this host cannot serve browsers: the exact fix in one line. */
export interface Unfit {
  hint: string;
}

/** Looks for the programs and tries the namespaces. `variable`: by which a person names another Chromium. */
export async function judge(
  chromium: string | null,
  variable = "SVC_CHROMIUM",
): Promise<Fitness | Unfit> {
  if (process.platform !== "linux")
    return { hint: "Browsers need Linux: run the pool on a Linux machine or in a Linux VM." };
  const found = await findPrograms(chromium);
  if ("hint" in found) return found;
  const version = await versionOf(found.chromium);
  if (version === null)
    return { hint: `${found.chromium} does not start: reinstall it, or set ${variable}.` };
  const playwrightUid = await playwrightUidOf(found);
  const common = { programs: found, version, playwrightUid, isOnline: await canBeOnline(found) };
  if (found.setpriv && (await canIsolate(found.bwrap, found.setpriv)))
    return { ...common, isolation: "uid" };
  if (await canIsolate(found.bwrap, null)) return { ...common, isolation: "shared-uid" };
  return { hint: await namespaceHint() };
}

async function findPrograms(chromium: string | null): Promise<Programs | Unfit> {
  const places = chromium ? [chromium] : CHROMIUM_PLACES;
  const browser = await firstExecutable(places);
  if (!browser && chromium) return { hint: `SVC_CHROMIUM names ${chromium}, which does not run.` };
  if (!browser)
    return { hint: "No Chromium: apt-get install chromium-headless-shell, or set SVC_CHROMIUM." };
  const bwrap = await onPath("bwrap");
  if (!bwrap) return { hint: "No bwrap: apt-get install bubblewrap." };
  const ip = await onPath("ip");
  if (!ip) return { hint: "No ip: apt-get install iproute2." };
  const [unshare, nsenter] = await Promise.all([onPath("unshare"), onPath("nsenter")]);
  if (!unshare || !nsenter) return { hint: "No unshare or nsenter: apt-get install util-linux." };
  const setpriv = process.getuid?.() === 0 ? await onPath("setpriv") : null;
  return { chromium: browser, bwrap, unshare, nsenter, ip, setpriv };
}

/** Whether this kernel has an interface for browsers. Without one pages take themselves for offline. */
function canBeOnline(programs: Programs): Promise<boolean> {
  const show = [programs.ip, "link", "show", NOWHERE, "up"];
  const [file, ...args] = [...inOwnNetwork(programs), ...show];
  return run(file, args, { timeout: TRIAL_MS }).then(
    ({ stdout }) => stdout.includes(NOWHERE),
    () => false,
  );
}

/** The user of Playwright processes, where root can make namespaces and run as another user; else null. */
async function playwrightUidOf({ bwrap, setpriv }: Programs): Promise<number | null> {
  if (!setpriv) return null;
  const view = [...NAMESPACES, "--ro-bind", "/", "/", ...OWN];
  const trial = [...view, "--", ...asUser(setpriv, PLAYWRIGHT_UID), "true"];
  return run(bwrap, trial, { timeout: TRIAL_MS }).then(
    () => PLAYWRIGHT_UID,
    () => null,
  );
}

async function canIsolate(bwrap: string, setpriv: string | null): Promise<boolean> {
  const spaces = ["--unshare-user", "--unshare-net", "--unshare-pid", "--unshare-ipc"];
  const view = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"];
  const trial = [bwrap, ...spaces, "--unshare-uts", "--die-with-parent", ...view, "true"];
  const user = [`--reuid=${FIRST_SLOT_UID}`, `--regid=${FIRST_SLOT_UID}`, "--clear-groups"];
  const [file = "", ...args] = setpriv ? [setpriv, ...user, "--no-new-privs", ...trial] : trial;
  return run(file, args, { timeout: TRIAL_MS }).then(
    () => true,
    () => false,
  );
}

async function namespaceHint(): Promise<string> {
  const isRestricted = await readFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    .then((text) => String(text).trim() === "1")
    .catch(() => false);
  if (isRestricted)
    return "User namespaces are forbidden: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0.";
  return "User namespaces are forbidden: sysctl -w kernel.unprivileged_userns_clone=1, or run the container with --security-opt seccomp=unconfined.";
}
