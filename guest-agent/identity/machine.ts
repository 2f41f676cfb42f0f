import type { Identity, IdentityDone } from "@svc/contract/control-channel/identity.ts";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Launcher } from "../launcher/launcher.ts";

/** What takes an identity: a machine, or a share of one, which has clock, random pool and name from its machine. */
export interface Bearer {
  launcher: Launcher;
  root: string;
  isShare: boolean;
}

/** Makes the machine be who the host says it is. No process is started on the way. */
export async function assume(
  identity: Identity,
  { launcher, root, isShare }: Bearer,
): Promise<IdentityDone> {
  const began = performance.now();
  const clockStepMs = identity.nowMs - Date.now();
  // The clock first: the other steps take time, and `nowMs` grows old.
  if (!isShare) await launcher.setClock(identity.nowMs);
  await Promise.all([
    !isShare && launcher.addEntropy(identity.entropy),
    !isShare && writeFile(join(root, "proc/sys/kernel/hostname"), identity.hostname),
    nameMachine(identity, root),
    identity.dropConnections && launcher.dropConnections(),
  ]);
  return { generation: identity.generation, tookMs: performance.now() - began, clockStepMs };
}

async function nameMachine(identity: Identity, root: string): Promise<void> {
  const { hostname, machineId, nameServers } = identity;
  const lines = nameServers.map((address) => `nameserver ${address}\n`).join("");
  await Promise.all([
    replace(join(root, "etc/hostname"), `${hostname}\n`),
    replace(join(root, "etc/machine-id"), `${machineId}\n`),
    replace(join(root, "etc/resolv.conf"), lines),
    replace(
      join(root, "etc/hosts"),
      `127.0.0.1 localhost ${hostname}\n::1 localhost ip6-localhost ip6-loopback\n`,
    ),
  ]);
}

/** Writes a file in one step: nobody sees half of it. */
export async function replace(path: string, text: string, mode = 0o644): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.svc-new`;
  await writeFile(draft, text, { mode });
  await rename(draft, path);
}
