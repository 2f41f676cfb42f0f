import type { Identity, IdentityDone } from "@svc/contract/control-channel/identity.ts";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Launcher } from "../launcher/launcher.ts";

/** What takes an identity: a machine, or a share of one, which has clock, random pool and name from its machine. */
export interface Bearer {
  launcher: Launcher;
  root: string;
  isShare: boolean;
}

/**
 * Makes the machine be who the host says it is. No process is started on the way. What the life before was told as well
 * is left as it is: a machine that goes on keeps what was made of its names since.
 */
export async function assume(
  identity: Identity,
  before: Identity | null,
  { launcher, root, isShare }: Bearer,
): Promise<IdentityDone> {
  const began = performance.now();
  const clockStepMs = identity.nowMs - Date.now();
  const isRenamed = !before || namesOf(before) !== namesOf(identity);
  const { resolution } = identity;
  // Read by the screen when it is started again.
  if (resolution !== undefined && resolution !== before?.resolution)
    replace(join(root, "run/svc/resolution"), `${resolution}\n`);
  // The helper does them in this order. The clock first: the other steps take time, and `nowMs` grows old.
  await Promise.all([
    !isShare && launcher.setClock(identity.nowMs),
    !isShare && launcher.addEntropy(identity.entropy),
    identity.dropConnections && launcher.dropConnections(),
    isRenamed && nameMachine(identity, { root, isShare }),
  ]);
  return { generation: identity.generation, tookMs: performance.now() - began, clockStepMs };
}

const namesOf = ({ hostname, machineId, nameServers }: Identity): string =>
  JSON.stringify([hostname, machineId, nameServers]);

// Nothing else runs meanwhile: handing each step to another thread takes longer than the step.
async function nameMachine(
  { hostname, machineId, nameServers }: Identity,
  { root, isShare }: Pick<Bearer, "root" | "isShare">,
): Promise<void> {
  const lines = nameServers.map((address) => `nameserver ${address}\n`).join("");
  // Not a file to be replaced: the kernel reads it.
  if (!isShare) writeFileSync(join(root, "proc/sys/kernel/hostname"), hostname);
  replace(join(root, "etc/hostname"), `${hostname}\n`);
  replace(join(root, "etc/machine-id"), `${machineId}\n`);
  replace(join(root, "etc/resolv.conf"), lines);
  replace(
    join(root, "etc/hosts"),
    `127.0.0.1 localhost ${hostname}\n::1 localhost ip6-localhost ip6-loopback\n`,
  );
}

/** Writes a file in one step: nobody sees half of it. */
export function replace(path: string, text: string | Buffer, mode = 0o644): void {
  const draft = `${path}.svc-new`;
  mkdirSync(dirname(path), { recursive: true });
  // A FIFO or a link of that name must not get the text: the file is a new one.
  rmSync(draft, { recursive: true, force: true });
  writeFileSync(draft, text, { mode, flag: "wx" });
  renameSync(draft, path);
}
