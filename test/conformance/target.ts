import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startSite } from "../support/fakes/site.ts";
import { stateFolder } from "../support/process/state-folder.ts";

/** It ends only what never starts. */
const START_MS = 300_000;

/** The gateway under test: all that a black box knows of it. */
export interface Target {
  base: URL;
  key: string;
  adminToken: string;
  /** A page with a title that its browsers may open. */
  site: string;
  /** Warnings and errors of the product's log; empty where that log cannot be read. */
  complaints: readonly string[];
  close(): Promise<void>;
}

/** Whether the environment names a gateway that runs already. */
export function isDeployed(): boolean {
  // What BASE_URL was: here it is one of Vite's (vitest.config.ts).
  return /^https?:/.test(process.env.SVC_CONFORMANCE_URL ?? "");
}

/** The gateway that BASE_URL names, or one started here as `npm start` does. */
export async function openTarget(): Promise<Target> {
  return isDeployed() ? deployedTarget() : startHere();
}

export function deployedTarget(): Target {
  const {
    SVC_CONFORMANCE_URL: base = "",
    SVC_API_KEY: key,
    SVC_ADMIN_TOKEN: adminToken,
  } = process.env;
  if (!key || !adminToken) throw new Error("BASE_URL needs SVC_API_KEY and SVC_ADMIN_TOKEN.");
  // It may have no way out to the web.
  const site = "data:text/html,<title>Conformance</title>";
  const close = async (): Promise<void> => undefined;
  return { base: new URL(base), key, adminToken, site, complaints: [], close };
}

async function startHere(): Promise<Target> {
  const site = await startSite();
  const stateDir = await mkdtemp(join(stateFolder(), "svc-conformance-"));
  // It ends by itself when the channel closes: nothing is left of a test run that is killed.
  const child = spawn(process.execPath, ["scripts/start.ts"], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: {
      ...cleanEnv(),
      SVC_PORT: "0",
      SVC_WARM_VM: "0",
      SVC_WARM_DESKTOP: "0",
      SVC_BUILD_IMAGES: "0",
      SVC_STATE_DIR: stateDir,
      SVC_EGRESS_ALLOW: site.address,
      // On a busy computer browsers take their time.
      SVC_ACQUIRE_TIMEOUT_MS: "120000",
    },
  });
  const exit = once(child, "exit");
  const complaints: string[] = [];
  const close = async (): Promise<void> => {
    child.kill("SIGTERM");
    await exit;
    site.close();
    await rm(stateDir, { recursive: true, force: true });
  };
  const base = await readyUrl(child, complaints).catch(async (error: Error) => {
    await close();
    throw error;
  });
  const read = async (name: string) => (await readFile(join(stateDir, name), "utf8")).trim();
  const [key, adminToken] = await Promise.all([read("dev.key"), read("admin.token")]);
  return { base, key, adminToken, site: site.url, complaints, close };
}

/** The URL of the line `ready <url>`; refuses with all that was said when it does not come. Warnings and errors go to `complaints`. */
function readyUrl({ stdout, stderr }: ChildProcess, complaints: string[]): Promise<URL> {
  const lines: string[] = [];
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error(`npm start is not ready:\n${lines.join("\n")}`));
    const timer = setTimeout(fail, START_MS);
    stdout?.once("close", fail);
    for (const stream of [stdout, stderr]) {
      if (!stream) continue;
      createInterface(stream).on("line", (line) => {
        lines.push(line);
        if (/"level":"(warn|error)"/.test(line)) complaints.push(line);
        if (!line.startsWith("ready ")) return;
        clearTimeout(timer);
        resolve(new URL(line.slice("ready ".length)));
      });
    }
  });
}

// A start from a shell knows neither the test runner nor the npm that runs it.
export function cleanEnv(): NodeJS.ProcessEnv {
  const own = /^(npm_|VITEST|NODE_ENV$|SVC_(?!CHROMIUM)|BASE_URL$|TEST$|MODE$|DEV$|PROD$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
}
