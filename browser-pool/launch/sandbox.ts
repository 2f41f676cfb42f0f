import { lstat, readlink } from "node:fs/promises";
import { dirname } from "node:path";
import { inCgroups } from "@svc/host-kit/cgroups.ts";
import { SLOT_DISK_BYTES, TMP_BYTES } from "./caps.ts";
import { type NetworkPrograms, inOwnNetwork } from "./network.ts";

/** The programs that slots need. */
export interface Programs extends NetworkPrograms {
  chromium: string;
  bwrap: string;
  nsenter: string;
  /** Null when this process is not root: slots then share its uid. */
  setpriv: string | null;
}

/** Where bwrap tells the pid of the first process of the namespace. */
const STATUS_FD = 5;

/** Namespaces that root can make without a user namespace. */
export const NAMESPACES = [
  "--unshare-net",
  "--unshare-pid",
  "--unshare-ipc",
  "--unshare-uts",
  "--die-with-parent",
  "--new-session",
];
export const STATUS = ["--json-status-fd", String(STATUS_FD)];
export const OWN = [
  "--proc",
  "/proc",
  "--dev",
  "/dev",
  "--size",
  String(TMP_BYTES),
  "--tmpfs",
  "/tmp",
];
const SYSTEM_FOLDERS = ["/bin", "/sbin", "/lib", "/lib32", "/lib64"];
const READABLE = [
  "/etc/fonts",
  "/etc/ssl",
  "/etc/chromium",
  "/etc/chromium.d",
  "/var/cache/fontconfig",
];

export interface SandboxOptions {
  programs: Programs;
  /** The writable folders: the slot's own, and the folder of files that Playwright shares. Their paths are the same inside. */
  folder: string;
  files: string;
  /** Folders by the path under which the program sees them besides. */
  writes: Readonly<Record<string, string>>;
  reads: Readonly<Record<string, string>>;
  uid: number | null;
  cgroups: string[];
}

/** The command that runs `command` in namespaces of its own, with a read-only system and one folder. */
export async function sandboxed(options: SandboxOptions, command: string[]): Promise<string[]> {
  const { programs, folder, files, writes, reads, uid, cgroups } = options;
  const view = [
    ...(await machineView(programs.chromium)),
    ...bound("--bind", { [files]: files, ...writes }),
    ...bound("--ro-bind", reads),
    ...workspace(folder),
  ];
  const own = NAMESPACES.filter((name) => name !== "--unshare-net");
  const bwrap = [programs.bwrap, "--unshare-user", ...own, ...STATUS, ...view];
  const user = nameInside(uid);
  const bare = ["--uid", user, "--gid", user, "--cap-drop", "ALL", "--", ...command];
  const inner = [...inOwnNetwork(programs), ...bwrap, ...bare];
  if (uid === null || programs.setpriv === null) return inner;
  return inCgroups(cgroups, [...asUser(programs.setpriv, uid), ...inner]);
}

const bound = (how: string, folders: Readonly<Record<string, string>>): string[] =>
  Object.entries(folders).flatMap(([at, folder]) => [how, folder, at]);

/** The uid that the browser sees as its own. Chromium refuses to be root: there it is another by name only. */
function nameInside(uid: number | null): string {
  return String(uid ?? (process.getuid?.() || 1000));
}

/** The words before a command that make it run as this user, for good. */
export function asUser(setpriv: string, uid: number): string[] {
  const user = [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--no-new-privs"];
  return [setpriv, ...user, "--inh-caps=-all", "--bounding-set=-all"];
}

/** The system, read only. */
export async function systemFolders(): Promise<string[]> {
  const system = (await Promise.all(SYSTEM_FOLDERS.map(systemFolder))).flat();
  return ["--ro-bind", "/usr", "/usr", ...system];
}

async function machineView(chromium: string): Promise<string[]> {
  const own = dirname(chromium);
  const readable = READABLE.flatMap((path) => ["--ro-bind-try", path, path]);
  const elsewhere = own.startsWith("/usr/") ? [] : ["--ro-bind", own, own];
  return [...(await systemFolders()), ...readable, ...OWN, ...elsewhere];
}

function workspace(folder: string): string[] {
  const variables = {
    PATH: "/usr/bin:/bin",
    HOME: folder,
    TMPDIR: "/tmp",
    LANG: "C.UTF-8",
    XDG_RUNTIME_DIR: "/tmp",
  };
  const env = Object.entries(variables).flatMap(([name, value]) => ["--setenv", name, value]);
  // Nothing from outside: Node hands the flags of the pool, with paths, to what it starts.
  const disk = ["--size", String(SLOT_DISK_BYTES), "--tmpfs", folder];
  return [...disk, "--chdir", folder, "--clearenv", ...env];
}

// Merged systems have links to /usr here, others folders.
async function systemFolder(path: string): Promise<string[]> {
  const found = await lstat(path).catch(() => null);
  if (!found) return [];
  return found.isSymbolicLink()
    ? ["--symlink", await readlink(path), path]
    : ["--ro-bind", path, path];
}
