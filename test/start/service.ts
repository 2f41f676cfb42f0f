import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect } from "vitest";
import { killIfThere } from "../support/process/process-tree.ts";
import { GONE_MS, type Process, descendants, expectGone, isAlive, marked } from "./processes.ts";

/** What a process of `npm start` is, by a piece of its command line. */
export const ROLES = {
  npm: "npm start",
  launcher: "scripts/run.mjs",
  supervisor: "scripts/start.ts",
  gateway: "scripts/gateway-main.ts",
  workerd: "/bin/workerd serve",
  pool: "browser-pool/main.ts",
  vmHost: "vm-host/main.ts",
} as const;
export type Role = keyof typeof ROLES;

/** How long a start, or anything of it, may take on the busiest of computers. */
export const START_MS = 300_000;

/** Machines and images take minutes: only where a test is about them. Hosts may stop as slowly as the computer is. */
const QUIET = {
  SVC_WARM_FAST: "1",
  SVC_WARM_STEALTH: "0",
  SVC_WARM_VM: "0",
  SVC_WARM_DESKTOP: "0",
  SVC_BUILD_IMAGES: "0",
  SVC_STOP_MS: "90000",
};

export function stateDir(): string {
  return mkdtempSync(join(tmpdir(), "svc-start-"));
}

/** One `npm start`, in a process group of its own as a terminal gives it. */
export class Service implements AsyncDisposable {
  readonly folder: string;
  readonly lines: string[] = [];
  readonly npm: ChildProcess;
  readonly exit: Promise<unknown>;
  url = "";

  constructor(env: Record<string, string> = {}, folder = stateDir(), before: string[] = []) {
    this.folder = folder;
    const [file, ...args] = [...before, "npm", "start"];
    this.npm = spawn(file, args, {
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...cleanEnv(), ...QUIET, SVC_PORT: "0", SVC_STATE_DIR: folder, ...env },
    });
    for (const stream of [this.npm.stdout, this.npm.stderr])
      if (stream) createInterface(stream).on("line", (line) => this.lines.push(line));
    // Not its exit: what it said last may come after that.
    this.exit = once(this.npm, "close");
  }

  static async ready(
    env?: Record<string, string>,
    folder?: string,
    before?: string[],
  ): Promise<Service> {
    const service = new Service(env, folder, before);
    await expect
      .poll(() => service.lines.find((line) => line.startsWith("ready ")), { timeout: START_MS })
      .toMatch(/^ready http:\/\/127\.0\.0\.1:\d+$/)
      .catch(async (error: Error) => {
        await service[Symbol.asyncDispose]();
        throw new Error(`not ready:\n${service.lines.join("\n")}`, { cause: error });
      });
    service.url = service.lines.find((line) => line.startsWith("ready "))?.slice(6) ?? "";
    return service;
  }

  get pid(): number {
    return this.npm.pid ?? expect.fail("npm did not start");
  }

  family(): Process[] {
    const all = [...descendants(this.pid), ...marked(this.folder)];
    return [...new Map(all.map((process) => [process.pid, process])).values()];
  }

  find(role: Role): Process | undefined {
    return this.family().find(({ command }) => command.includes(ROLES[role]));
  }

  process(role: Role): Process {
    return (
      this.find(role) ?? expect.fail(`no ${role} among ${JSON.stringify(this.family(), null, 1)}`)
    );
  }

  /** With a browser in it, where this machine has one: that too must end. */
  async wholeFamily(): Promise<Process[]> {
    const isOn = this.lines.some((line) => /^ +on +browsers \(fast\)/.test(line));
    const isWarm = () => this.family().some(({ command }) => /headless.shell/.test(command));
    if (isOn) await expect.poll(isWarm, { timeout: START_MS }).toBe(true);
    return this.family();
  }

  read(name: string): string {
    return readFileSync(join(this.folder, name), "utf8").trim();
  }

  mode(name: string): string {
    return (statSync(join(this.folder, name)).mode & 0o777).toString(8);
  }

  async health(): Promise<number> {
    return fetch(new URL("/health", this.url)).then(
      (response) => response.status,
      () => 0,
    );
  }

  /** Nothing that belongs to it is left, neither known now nor born since. */
  async expectNothingLeft(known: Process[]): Promise<void> {
    await expectGone(known);
    await expect.poll(() => marked(this.folder), { timeout: GONE_MS }).toEqual([]);
  }

  /** Ends it whatever state a failed test left it in. */
  async [Symbol.asyncDispose](): Promise<void> {
    const family = this.family();
    this.npm.kill("SIGTERM");
    await expectGone(family).catch(() => {
      for (const { pid } of family.filter(isAlive)) killIfThere(pid);
    });
    rmSync(this.folder, { recursive: true, force: true });
  }
}

// A start from a shell knows neither the test runner nor the npm that runs it.
function cleanEnv(): NodeJS.ProcessEnv {
  const own = /^(npm_|VITEST|NODE_ENV$|SVC_|TEST$|MODE$|DEV$|PROD$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
}
