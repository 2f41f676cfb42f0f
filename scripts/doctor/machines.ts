import { access, constants } from "node:fs/promises";
import { cacheDirOf } from "../../vm-host/config.ts";
import { buildHindrance } from "../../vm-host/images/build.ts";
import { RECIPES } from "../../vm-host/images/recipes.ts";
import { findImage } from "../../vm-host/images/store.ts";
import { QEMU } from "../../vm-host/qemu/command.ts";
import { run } from "../../vm-host/programs.ts";
import { qemuVersion } from "../../vm-host/qemu/platform.ts";
import { systemPackages } from "../system-packages.ts";
import type { Finding } from "../../cli/doctor/finding.ts";

/** QEMU, what makes it fast, and the images of machines. */
export async function lookAtMachines(): Promise<Finding[]> {
  const version = await qemuVersion();
  const lacking = systemPackages().find(({ what }) => what === "sandboxes");
  const missing = lacking?.missing ?? [];
  const fix = missing.length > 0 ? lacking?.fix : undefined;
  if (version === null)
    return [{ what: "QEMU", state: "missing", note: "there is none: no sandboxes", fix }];
  const rest = missing.length > 0 ? `; without ${missing.join(", ")}` : "";
  const qemu: Finding = {
    what: "QEMU",
    state: rest ? "weak" : "ok",
    note: `${version}${rest}`,
    fix,
  };
  return [qemu, await lookAtKvm(), ...(await Promise.all(RECIPES.map(lookAtImage)))];
}

type Recipe = (typeof RECIPES)[number];

async function lookAtImage(recipe: Recipe): Promise<Finding> {
  const what = `image ${recipe.name}`;
  const image = await findImage(cacheDirOf(process.env), recipe);
  if (image) return { what, state: "ok", note: `built, kernel ${image.kernel}` };
  const hindrance = await buildHindrance();
  const note = `is not built yet${hindrance ? `. ${hindrance}` : ""}`;
  return { what, state: "missing", note, fix: `npm run images -- ${recipe.name}` };
}

const KVM = "/dev/kvm";
const SLOW = "machines run in emulation, some ten times slower";
/** QEMU opens a machine of the kernel, and is told to end before that runs. */
const TRIAL = "-machine q35,accel=kvm -cpu host -m 64 -S -nodefaults -display none -monitor stdio";
const TRIAL_MS = 20_000;
const MOST_WORDS = 80;

/** Opens a machine on /dev/kvm: the device alone proves nothing. */
async function lookAtKvm(): Promise<Finding> {
  const what = "KVM";
  if (process.platform !== "linux") return { what, state: "weak", note: `needs Linux: ${SLOW}` };
  const code = await access(KVM, constants.R_OK | constants.W_OK).then(
    () => null,
    (error: NodeJS.ErrnoException) => error.code,
  );
  if (code === "ENOENT")
    return {
      what,
      state: "weak",
      note: `no ${KVM} (a virtual machine without nested ones?): ${SLOW}`,
    };
  if (code !== null)
    return {
      what,
      state: "weak",
      note: `${KVM} is not yours: ${SLOW}`,
      fix: "sudo usermod -aG kvm $USER",
    };
  const fault = await triedKvm();
  return fault === null
    ? { what, state: "ok", note: "a machine can be opened" }
    : { what, state: "weak", note: `${fault}: ${SLOW}` };
}

async function triedKvm(): Promise<string | null> {
  try {
    await run(QEMU, TRIAL.split(" "), { input: "quit\n", timeoutMs: TRIAL_MS });
    return null;
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return `QEMU cannot use ${KVM} (${words.slice(-MOST_WORDS)})`;
  }
}
