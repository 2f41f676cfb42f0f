import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { replaceFile } from "../disk/files.ts";
import type { Accelerator } from "../driver.ts";
import { archiveOf } from "../images/cpio.ts";
import type { Image } from "../images/store.ts";
import { run } from "../programs.ts";
import { basics, machineOf } from "./command.ts";
import { type Confinement, confined } from "./confinement.ts";

const MARK = "SVC-PROBE-OK";
const INIT = `#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
echo ${MARK} > /dev/ttyS0
/bin/busybox poweroff -f
`;
/** A machine that hangs is no machine. Emulation may be slow on a busy host. */
const LIMITS_MS = { kvm: 20_000, hvf: 20_000, tcg: 180_000 };
const TRIAL = { cpu: 1, memMb: 128 };

const Known = z.object({
  key: z.string(),
  accelerator: z.object({
    name: z.enum(["kvm", "hvf", "tcg"]),
    reason: z.string(),
    bootMs: z.number(),
  }),
});

export interface ProbeOptions {
  qemu: string;
  /** `7.2.22` */
  version: string;
  image: Image;
  confinement: Confinement | null;
  cacheDir: string;
  /** A folder for the trial's files. */
  runDir: string;
}

/**
 * Finds how machines run fastest here by booting the real kernel: that /dev/kvm opens proves nothing. The
 * result is kept until kernel, QEMU or device change.
 */
export async function probeAccelerator(options: ProbeOptions): Promise<Accelerator> {
  const { version, image, cacheDir, confinement } = options;
  const key = [version, image.kernel, await deviceKey(), confinement ? "uid" : "own"].join(" ");
  const file = join(cacheDir, "accelerator.json");
  const known = await readKnown(file);
  if (known?.key === key) return known.accelerator;
  const accelerator = await probe(options);
  // Hosts of one computer may try at the same time.
  const draft = `${file}.${process.pid}.new`;
  await replaceFile(file, JSON.stringify({ key, accelerator }), { draft, mode: 0o644 });
  return accelerator;
}

async function readKnown(file: string): Promise<z.infer<typeof Known> | null> {
  try {
    return Known.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return null;
  }
}

async function deviceKey(): Promise<string> {
  const found = await stat("/dev/kvm").catch(() => null);
  return found ? `kvm:${found.ino}:${found.mode}:${found.gid}` : "no-kvm";
}

async function probe(options: ProbeOptions): Promise<Accelerator> {
  const candidates = process.platform === "darwin" ? ["hvf", "tcg"] : ["kvm", "tcg"];
  const reasons: string[] = [];
  const initrd = join(options.runDir, "probe.img");
  await writeFile(initrd, await trialArchive(options.image), { mode: 0o644 });
  try {
    for (const name of candidates) {
      const accelerator = z.enum(["kvm", "hvf", "tcg"]).parse(name);
      const startedAt = Date.now();
      const fault = await trial(options, accelerator, initrd);
      if (fault === null)
        return { name: accelerator, reason: reasons.join(" "), bootMs: Date.now() - startedAt };
      reasons.push(`${name}: ${fault}`);
    }
  } finally {
    await rm(initrd, { force: true });
  }
  throw new Error(`no machine boots here. ${reasons.join(" ")}`);
}

/** What went wrong, or null when the kernel came up. */
async function trial(
  { qemu, image, confinement }: ProbeOptions,
  accelerator: Accelerator["name"],
  initrd: string,
): Promise<string | null> {
  if (accelerator === "kvm" && (await deviceKey()) === "no-kvm") return "there is no /dev/kvm.";
  const kernel = ["-kernel", image.vmlinuz, "-initrd", initrd];
  const line = ["-append", "console=ttyS0 quiet reboot=t panic=-1", "-serial", "stdio"];
  const command = [qemu, ...basics(accelerator, TRIAL), ...machineOf(), ...kernel, ...line];
  const uid = confinement?.take() ?? null;
  const [file = "", ...args] = confined(command, confinement, uid);
  const timeoutMs = LIMITS_MS[accelerator];
  try {
    const output = await run(file, args, { timeoutMs });
    return output.includes(MARK) ? null : "the kernel did not come up.";
  } catch (error) {
    return faultOf(error, timeoutMs);
  } finally {
    if (uid !== null) confinement?.release(uid);
  }
}

function faultOf(error: unknown, timeoutMs: number): string {
  const text = error instanceof Error ? error.message : String(error);
  if (text.includes("ended with null")) return `no kernel within ${timeoutMs / 1000} s.`;
  const [last = ""] = text.split("\n").filter(Boolean).slice(-1);
  return `${last.replace(/^.*qemu-system-\w+: /, "").slice(0, 150)}.`;
}

async function trialArchive(image: Image): Promise<Buffer> {
  return archiveOf([
    { path: "bin", mode: 0o755, content: "folder" },
    { path: "dev", mode: 0o755, content: "folder" },
    { path: "init", mode: 0o755, content: Buffer.from(INIT) },
    { path: "bin/busybox", mode: 0o755, content: await readFile(image.busybox) },
  ]);
}
