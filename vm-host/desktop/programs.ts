import {
  type DesktopPort,
  type DesktopProcess,
  LISTED,
} from "@svc/contract/control-channel/computer-methods.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import { type Shell, ask, linesOf, short } from "./shell.ts";

const MOST_LINES = 20_000;
const LINE_CHARACTERS = 4096;
const KIB = 1024;
/** Between the names and the rest: a command has no empty line. */
const PROCESSES = `ps -eo pid=,comm= && echo && exec ps -eo pid=,ppid=,pcpu=,rss=,args=`;
const PORTS = "exec ss -Hltnp";
const URL_SCHEME = /^[a-z][a-z\d+.-]*:\/\//i;
/** What the menu of the desktop calls its programs. */
const PROGRAMS: Record<string, string> = {
  browser: "chromium",
  editor: "mousepad",
  files: "pcmanfm",
  terminal: "lxterminal",
};
const NO_PROGRAM = 127;
/** Starts a program that goes on when whoever started it is gone. */
const OPEN = `case $1 in
  /*) if [ -d "$1" ]; then set -- pcmanfm "$@"; elif [ -f "$1" ] && [ ! -x "$1" ]; then set -- xdg-open "$@"; fi ;;
esac
command -v -- "$1" >/dev/null || exit ${NO_PROGRAM}
cd
setsid -- "$@" </dev/null >/dev/null 2>&1 &
echo $!`;

/** Starts a program by its name or path, or what opens a URL, a file or a folder. Resolves with its pid. */
export async function openTarget(
  shell: Shell,
  target: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const opener = URL_SCHEME.test(target) ? ["chromium", target] : [PROGRAMS[target] ?? target];
  const { exitCode, stdout } = await ask(shell, OPEN, [...opener, ...args], signal);
  if (exitCode === NO_PROGRAM)
    throw refuse("NotFound", `There is no program or file ${target} on this desktop.`);
  const [, pid] = /^(\d{1,10})\n/.exec(stdout) ?? [];
  if (exitCode !== 0 || pid === undefined)
    throw refuse("Disconnected", `The desktop did not start ${target}.`);
  return Number(pid);
}

export async function listProcesses(shell: Shell, signal: AbortSignal) {
  const { exitCode, stdout } = await ask(shell, PROCESSES, [], signal);
  if (exitCode !== 0) throw refuse("Disconnected", "The desktop does not tell its processes.");
  return parseProcesses(stdout);
}

/** The TCP ports that programs listen on. */
export async function listPorts(shell: Shell, signal: AbortSignal) {
  const { exitCode, stdout } = await ask(shell, PORTS, [], signal);
  if (exitCode !== 0) throw refuse("Disconnected", "The desktop does not tell its ports.");
  return parsePorts(stdout);
}

/** Reads what `ps` has said: names first, then everything else. */
export function parseProcesses(said: string): { processes: DesktopProcess[]; truncated: boolean } {
  const names = new Map<number, string>();
  const processes: DesktopProcess[] = [];
  let isNames = true;
  for (const line of linesOf(said, MOST_LINES, LINE_CHARACTERS)) {
    if (line === "") isNames = false;
    if (isNames) {
      const [, pid, name = ""] = /^ *(\d{1,10}) (.*)$/.exec(line) ?? [];
      if (pid !== undefined) names.set(Number(pid), short(name, LISTED.characters));
      continue;
    }
    const [, pid, parent, cpu, rss, command = ""] =
      /^ *(\d{1,10}) +(\d{1,10}) +(\d{1,6}(?:\.\d)?) +(\d{1,12}) (.*)$/.exec(line) ?? [];
    if (pid === undefined) continue;
    if (processes.length === LISTED.processes) return { processes, truncated: true };
    processes.push({
      pid: Number(pid),
      parentPid: Number(parent),
      name: names.get(Number(pid)) ?? "",
      command: short(command, LISTED.characters),
      cpuPercent: Number(cpu),
      memoryBytes: Number(rss) * KIB,
    });
  }
  return { processes, truncated: false };
}

/** Reads what `ss` has said: `LISTEN 0 5 127.0.0.1:5901 0.0.0.0:* users:(("Xtigervnc",pid=9,fd=7))`. */
export function parsePorts(said: string): { ports: DesktopPort[]; truncated: boolean } {
  const ports: DesktopPort[] = [];
  for (const line of linesOf(said, MOST_LINES, LINE_CHARACTERS)) {
    const [, local = "", users = ""] = /^\S+ +\d+ +\d+ +(\S+) +\S+ *(.*)$/.exec(line) ?? [];
    const [, address = "", port] = /^(.{1,100}):(\d{1,5})$/.exec(local) ?? [];
    if (port === undefined) continue;
    if (ports.length === LISTED.ports) return { ports, truncated: true };
    const [, process = "", pid = "0"] =
      /^users:\(\("([^"]{0,300})",pid=(\d{1,10}),/.exec(users) ?? [];
    ports.push({
      port: Number(port),
      address: address.replaceAll(/[[\]]/g, ""),
      pid: Number(pid),
      process: short(process, LISTED.characters),
    });
  }
  return { ports, truncated: false };
}
