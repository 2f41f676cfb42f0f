import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { takeLock } from "../host-kit/lock.ts";

/** By Debian package: the programs of which one is enough, the family of its fonts, or its module of Python. */
type Packages = Record<string, string[] | { family: string } | { module: string }>;

const BROWSERS: Packages = {
  "chromium-headless-shell": ["chromium-headless-shell", "chromium", "google-chrome-stable"],
  bubblewrap: ["bwrap"],
  iproute2: ["ip"],
};
/** To run whole browsers, each on a screen of its own. */
const STEALTH: Packages = { chromium: ["chromium", "google-chrome-stable"], xvfb: ["Xvfb"] };
/** To record videos of pages, and to draw every script: browsers draw boxes for letters that no font has. */
const PAGES: Packages = {
  ffmpeg: ["ffmpeg"],
  fontconfig: ["fc-list"],
  "fonts-liberation": { family: "Liberation Sans" },
  "fonts-crosextra-carlito": { family: "Carlito" },
  "fonts-crosextra-caladea": { family: "Caladea" },
  "fonts-noto-core": { family: "Noto Sans Devanagari" },
  "fonts-noto-cjk": { family: "Noto Sans CJK JP" },
  "fonts-noto-color-emoji": { family: "Noto Color Emoji" },
};
/** To run machines, to make their images, and to keep them from this machine's own network. */
const MACHINES: Packages = {
  "qemu-system-x86": ["qemu-system-x86_64"],
  "qemu-utils": ["qemu-img"],
  mmdebstrap: ["mmdebstrap"],
  e2fsprogs: ["mke2fs"],
  nftables: ["nft"],
};
/** To record desktops. */
const RECORDINGS: Packages = { ffmpeg: ["ffmpeg"] };
/** To run Python contexts outside a machine, as tests of the guest agent do. */
const KERNELS: Packages = {
  "python3-ipython": { module: "IPython" },
  "python3-pandas": { module: "pandas" },
  "python3-matplotlib": { module: "matplotlib" },
};
/** To run the examples of the pages, as their tests do. */
const EXAMPLES: Packages = { curl: ["curl"], jq: ["jq"], python3: ["python3"] };
const APT_MS = 10 * 60_000;

/**
 * Puts the system packages in place that browsers need, where that takes no question: on Debian and Ubuntu, as root or
 * with passwordless sudo. Elsewhere it prints the line that does. Never fails: what is missing turns a kind off.
 */
export default function ensureSystemPackages(): void {
  ensure("browsers are", BROWSERS);
  // Each apart from what browsers cannot do without: a package that cannot be had takes none of those with it.
  ensure("stealth browsers are", STEALTH);
  ensure("recordVideo and fonts for many scripts are", PAGES);
}

/** The same for sandboxes. */
export function ensureMachinePackages(): void {
  ensure("sandboxes are", MACHINES);
  ensure("recordings of desktops are", RECORDINGS);
}

/** For tests of Python contexts without a machine. */
export function ensureKernelPackages(): void {
  ensure("tests of Python contexts are", KERNELS);
}

/** For tests of the examples of pages. */
export function ensureExamplePackages(): void {
  ensure("tests of the examples of pages are", EXAMPLES);
}

/** The packages for videos and fonts that this machine lacks. */
export function missingForPages(): string[] {
  return missing(PAGES);
}

/** Each group of system packages: its purpose, the packages that this machine lacks, and the line that installs them. */
export function systemPackages(): { what: string; missing: string[]; fix: string }[] {
  const groups = {
    browsers: BROWSERS,
    "stealth browsers": STEALTH,
    "videos and fonts": PAGES,
    sandboxes: MACHINES,
    "recordings of desktops": RECORDINGS,
  };
  return Object.entries(groups).map(([what, packages]) => {
    const lacking = missing(packages);
    return { what, missing: lacking, fix: advice(lacking).replace(/^:? /, "") };
  });
}

function ensure(what: string, packages: Packages): void {
  if (missing(packages).length === 0) return;
  const asRoot = process.env.SVC_NO_INSTALL === "1" ? undefined : privilege();
  if (asRoot && onPath("apt-get")) {
    // Two commands started at once install once: the second waits and finds nothing missing.
    using _lock = takeLock(".svc/install.lock", APT_MS);
    install(asRoot, packages);
  }
  const still = missing(packages);
  if (still.length > 0) console.log(`${what} off, to turn them on${advice(still)}`);
}

function advice(packages: string[]): string {
  if (!onPath("apt-get")) return ` install: ${packages.join(", ")}`;
  return `: sudo apt-get install --no-install-recommends ${packages.join(" ")}`;
}

function missing(packages: Packages): string[] {
  return Object.entries(packages)
    .filter(([name]) => !isNamed(name))
    .filter(([, sign]) => !isThere(sign))
    .map(([name]) => name);
}

function isThere(sign: Packages[string]): boolean {
  if (Array.isArray(sign)) return onPath(...sign);
  return "family" in sign ? hasFont(sign.family) : hasModule(sign.module);
}

/** Whether a variable names another program in place of the package's. */
function isNamed(name: string): boolean {
  const { SVC_CHROMIUM, SVC_CHROMIUM_STEALTH } = process.env;
  if (name === "chromium-headless-shell") return Boolean(SVC_CHROMIUM);
  return name === "chromium" && Boolean(SVC_CHROMIUM_STEALTH);
}

function install(asRoot: string[], packages: Packages): void {
  if (available(packages).length < missing(packages).length) apt(asRoot, "update");
  const found = available(packages);
  if (found.length === 0) return;
  const args = ["install", "--yes", "--no-install-recommends", ...found];
  // An old list names versions that the archive no longer has.
  if (!apt(asRoot, ...args) && apt(asRoot, "update")) apt(asRoot, ...args);
}

function available(packages: Packages): string[] {
  const isOffered = (name: string) =>
    /^ +Candidate: (?!\(none\))/m.test(output("apt-cache", ["policy", name]));
  return missing(packages).filter(isOffered);
}

function apt(asRoot: string[], ...args: string[]): boolean {
  console.log(`apt-get ${args.join(" ")} (SVC_NO_INSTALL=1 leaves this system alone)`);
  const quietly = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet=2"];
  const patiently = ["-o", "DPkg::Lock::Timeout=120"];
  const [program = "", ...rest] = [...asRoot, ...quietly, ...patiently, ...args];
  const stdio = ["ignore", "ignore", "inherit"] as const;
  return spawnSync(program, rest, { stdio: [...stdio] }).status === 0;
}

/** What to put before a command that needs root; nothing at all when this user cannot have it without a question. */
function privilege(): string[] | undefined {
  if (output("id", ["-u"]).trim() === "0") return [];
  const sudo = ["sudo", "--non-interactive"];
  const can = onPath("sudo") && spawnSync("sudo", ["--non-interactive", "true"]).status === 0;
  return can ? sudo : undefined;
}

function output(program: string, args: string[]): string {
  const env = { ...process.env, LC_ALL: "C" };
  return spawnSync(program, args, { encoding: "utf8", env }).stdout ?? "";
}

/** Whether one of these programs can be run. */
function onPath(...programs: string[]): boolean {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.some((folder) => programs.some((program) => isExecutable(join(folder, program))));
}

function hasFont(family: string): boolean {
  return output("fc-list", [family, "family"]) !== "";
}

/** Whether the system's own Python has a module. */
function hasModule(name: string): boolean {
  return spawnSync("/usr/bin/python3", ["-c", `import ${name}`]).status === 0;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
