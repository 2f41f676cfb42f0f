import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import { beat } from "../support/fakes/vm-heartbeat.ts";
import { FakeVmHost, FakeVmMode } from "../support/fakes/vm-host.ts";
import { FAKE_HOST_PLATFORM } from "../support/fakes/platform.ts";
import { ADMIN_TOKEN, HOST_TOKEN, SIGNING_SECRET } from "../support/secrets.ts";
import { stateFolder } from "../support/process/state-folder.ts";
import { cleanEnv, deployedTarget, isDeployed, type Target } from "./target.ts";

/** What a fake host can do: all that document 2 has. */
const CAPABILITIES = ["desktop", "recording", "snapshots", "volumes.mount", "isolation.shared"];
/** A host that is not heard for 15 s is away. */
const BEAT_MS = 5_000;

/** Makes the one host behind a gateway fail, until what it gives back is disposed of. */
export interface Faults {
  /** How it answers: what is not said, well. */
  steer(mode: Partial<FakeVmMode>): Disposable;
  /** It is of another platform than what was saved so far. */
  migrate(): Promise<AsyncDisposable>;
}

/** The VM gateway under test. */
export interface VmTarget extends Omit<Target, "site" | "key" | "complaints"> {
  /** null: its hosts are real, and serve others. */
  faults: Faults | null;
}

/**
 * The gateway that BASE_URL names, with whatever hosts it has; or a real gateway started here, over HTTP, with a
 * fake host that can be made to fail: real machines and what they do are shown by test/vm-host and test/end-to-end.
 */
export async function openVmTarget(): Promise<VmTarget> {
  return isDeployed() ? { ...deployedTarget(), faults: null } : startHere();
}

async function startHere(): Promise<VmTarget> {
  const stateDir = await mkdtemp(join(stateFolder(), "svc-conformance-"));
  const child = startGateway(stateDir);
  const gateway = { url: await readyUrl(child), hostToken: HOST_TOKEN };
  const host = new FakeVmHost(HOST_TOKEN);
  host.capabilities = CAPABILITIES;
  const url = await host.listen();
  let platform: HostPlatform = FAKE_HOST_PLATFORM;
  const tell = () => beat(gateway, host, url, { platform, templates: host.builds.held });
  await tell();
  const beats = setInterval(() => void tell().catch(() => null), BEAT_MS);
  const become = async (other: HostPlatform): Promise<void> => {
    platform = other;
    await tell();
  };
  const faults: Faults = {
    steer: (mode) => {
      host.mode = FakeVmMode.parse(mode);
      return { [Symbol.dispose]: () => void (host.mode = FakeVmMode.parse({})) };
    },
    migrate: async () => {
      await become({ ...FAKE_HOST_PLATFORM, machine: "pc-q35-9.9" });
      return { [Symbol.asyncDispose]: () => become(FAKE_HOST_PLATFORM) };
    },
  };
  const close = async (): Promise<void> => {
    clearInterval(beats);
    await endOf(child);
    await host.close();
    await rm(stateDir, { recursive: true, force: true });
  };
  return { base: gateway.url, adminToken: ADMIN_TOKEN, faults, close };
}

/** The gateway of `npm start`, in a process of its own: it ends when this one does. */
function startGateway(stateDir: string): ChildProcess {
  return fork("scripts/gateway-main.ts", {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    env: {
      ...cleanEnv(),
      SVC_PORT: "0",
      SVC_STATE_DIR: stateDir,
      SVC_HOST_TOKEN: HOST_TOKEN,
      SVC_ADMIN_TOKEN: ADMIN_TOKEN,
      SVC_SIGNING_SECRET: SIGNING_SECRET,
      SVC_PREVIEW_DOMAIN: "preview.localhost",
      SVC_ACQUIRE_TIMEOUT_MS: "30000",
      WRANGLER_LOG: "error",
    },
  });
}

async function readyUrl(child: ChildProcess): Promise<URL> {
  const died = once(child, "exit").then(() => null);
  const said = await Promise.race([once(child, "message"), died]);
  if (!said) throw new Error("the gateway has not started");
  const [{ url }] = said as [{ url: string }];
  return new URL(url);
}

async function endOf(child: ChildProcess): Promise<void> {
  const exit = once(child, "exit");
  child.disconnect();
  await exit;
}
