import type { BuildStep } from "@svc/contract/vm/template-steps.ts";
import type { Setting } from "./plan.ts";

/** A command of a build, whole: nobody reads it as a shell would. */
export interface BuildCommand {
  cmd: string;
  args: string[];
  cwd?: string;
  env?: Record<string, string>;
}

const ROOT = "root";
const APT_ENV = { DEBIAN_FRONTEND: "noninteractive" };
const NO_QUESTIONS = { GIT_TERMINAL_PROMPT: "0" };

type CommandStep = Exclude<BuildStep, { type: "write" }>;

/** The commands of a step, one after the other; each must end well. */
export function commandsOf(step: CommandStep, { envs, cwd, user }: Setting): BuildCommand[] {
  const env = (own: Record<string, string> = {}) => ({ ...own, ...envs });
  const common = { ...(cwd !== undefined && { cwd }), env: env() };
  const mine = (argv: string[], own: Partial<BuildCommand> = {}): BuildCommand => ({
    ...as(user, argv),
    ...common,
    ...own,
  });
  switch (step.type) {
    case "apt":
      return aptCommands(step.packages).map((argv) => ({ ...as(ROOT, argv), env: env(APT_ENV) }));
    case "pip": {
      // A Python that a step has brought from Debian refuses to be added to without this; the image's own does not.
      const flags = ["--no-input", "--no-cache-dir", "--break-system-packages"];
      return [mine(["python3", "-m", "pip", "install", ...flags, "--", ...step.packages])];
    }
    case "npm": {
      const flags = ["--no-fund", "--no-audit", ...(step.global ? ["--global"] : [])];
      return [mine(["npm", "install", ...flags, "--", ...step.packages])];
    }
    case "run":
      return [{ ...as(step.user ?? user, ["bash", "-c", step.cmd]), ...common }];
    case "env":
      return [];
    case "workdir":
      return [
        { cmd: "mkdir", args: ["-p", "--", step.path] },
        ...(user === undefined ? [] : [{ cmd: "chown", args: [`${user}:`, "--", step.path] }]),
      ];
    case "user":
      return [{ cmd: "bash", args: ["-c", USER_LINE, "bash", step.name] }];
    case "git":
      return gitCommands(step).map((argv) => mine(argv, { env: env(NO_QUESTIONS) }));
  }
}

// A user that is there stays as it is.
const USER_LINE = 'id -u "$1" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$1"';

function aptCommands(packages: string[]): string[][] {
  const quiet = ["--quiet", "--yes"];
  return [
    ["apt-get", "update", "--quiet"],
    ["apt-get", "install", ...quiet, "--no-install-recommends", "--", ...packages],
    // What was fetched is not needed any more, and would be in every machine.
    ["apt-get", "clean"],
    ["find", "/var/lib/apt/lists", "-type", "f", "-delete"],
  ];
}

function gitCommands({ url, ref, path }: Extract<BuildStep, { type: "git" }>): string[][] {
  // A name of a branch or tag, or a commit: only all of it has every one of them.
  const clone = ["git", "clone", "--quiet", "--", url, path];
  return ref === undefined ? [clone] : [clone, ["git", "-C", path, "checkout", "--quiet", ref]];
}

/** A command as a user runs it; what is no name of a user was refused long ago. */
export function as(user: string | undefined, argv: string[]): BuildCommand {
  const [cmd = "", ...args] = argv;
  if (user === undefined || user === ROOT) return { cmd, args };
  const line = `export HOME=~${user} USER=${user} LOGNAME=${user}; exec "$@"`;
  return { cmd: "runuser", args: ["-u", user, "--", "bash", "-c", line, "bash", ...argv] };
}
