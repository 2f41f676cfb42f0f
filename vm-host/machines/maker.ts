import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { VmPlaced } from "@svc/contract/host-protocol/vms.ts";
import type { GoldenMachine, Machine, MachineSpec, VmDriver } from "../driver.ts";
import { Guest } from "../guest/guest.ts";
import { type Self, newSelf } from "../guest/identity.ts";
import { kindOfImage } from "../images/recipes.ts";
import type { LifeStart } from "../life.ts";
import type { GoldenMachines } from "../golden/golden-machines.ts";

/** How long a new machine's agent may take to answer. A busy host emulates slowly: this ends only what never comes up. */
export const ANSWER_MS = { boot: 180_000, clone: 60_000, warm: 60_000, fork: 60_000 } as const;
// The caches of the boot only make the golden machine larger; those of the first commands are worth keeping.
const FIRST_COMMANDS = [
  { cmd: "sh", args: ["-c", "sync; echo 3 > /proc/sys/vm/drop_caches"] },
  { cmd: "/bin/true", args: [] },
  { cmd: "sh", args: ["-c", "true"] },
  { cmd: "python3", args: ["-c", "import pandas"] },
];

/** Ends once window manager and panel are there; the first terminal has been opened and closed, so that its files are read. */
const DRAWN = {
  cmd: "sh",
  args: [
    "-c",
    [
      "until wmctrl -m && xdotool search --onlyvisible --class tint2; do sleep 0.2; done",
      "timeout 30 lxterminal -e true",
    ].join("\n"),
  ],
  timeoutMs: 120_000,
};

/** So often a machine takes an identity before it is frozen: what was compiled once is not yet compiled for what it sees. */
const LIVES_BEFORE = 3;

/** A running machine that nobody owns yet. */
export interface Made {
  machine: Machine;
  guest: Guest;
  how: VmPlaced["how"];
}

/** Makes machines: from a golden machine where there is one, else by a boot while the golden machine is built behind it. */
export class Maker {
  readonly #driver: VmDriver;
  readonly #goldenMachines: GoldenMachines;
  readonly #log: Log;
  /** A golden machine became usable. */
  readonly #onGolden: () => void;

  constructor(driver: VmDriver, goldenMachines: GoldenMachines, log: Log, onGolden: () => void) {
    this.#driver = driver;
    this.#goldenMachines = goldenMachines;
    this.#log = log;
    this.#onGolden = onGolden;
  }

  async make(spec: MachineSpec): Promise<Made> {
    const golden = await this.#goldenMachines.find(spec);
    const clone = golden && (await this.#clone(golden));
    if (clone) return clone;
    const made = await this.#boot(spec);
    // The machine still boots when it is returned; the build waits until no boot is under way.
    this.prepare(spec);
    return made;
  }

  /** A clone, or null where there is no golden machine. */
  async cloneOf(spec: MachineSpec): Promise<Made | null> {
    const golden = await this.#goldenMachines.find(spec);
    return golden && this.#clone(golden);
  }

  /** Builds the golden machine of a machine like this in the background, once the host boots nothing, unless it is there. */
  prepare(spec: MachineSpec): void {
    void (async () => {
      if ((await this.#goldenMachines.find(spec)) ?? (await this.#goldenMachines.build(spec)))
        this.#onGolden();
    })();
  }

  async #boot(spec: MachineSpec): Promise<Made> {
    const machine = await this.#driver.boot(spec);
    const guest = new Guest(machine);
    this.#goldenMachines.boots.add(Promise.race([guest.identified, machine.exited]));
    return { machine, guest, how: "boot" };
  }

  async #clone(golden: GoldenMachine): Promise<Made | null> {
    try {
      const machine = await this.#driver.clone(golden);
      await machine.cont();
      return { machine, guest: new Guest(machine, golden.life), how: "clone" };
    } catch (error) {
      this.#log.error({ golden: golden.key, reason: messageOf(error) }, "clone_failed");
      return null;
    }
  }
}

/** Waits until the desktop of a booted machine is drawn: its clones begin with that. */
async function settleDesktop(guest: Guest): Promise<void> {
  const { exitCode, stderr } = await guest.exec(DRAWN);
  if (exitCode !== 0) throw new Error(`the desktop did not come up: ${stderr}`);
}

/** Waits for a booted machine's agent and runs what its clones will run first, so that it is loaded and compiled. */
export async function settle(machine: Machine): Promise<LifeStart> {
  const guest = new Guest(machine);
  const kind = kindOfImage(machine.spec.image);
  const nobody = (): Self => newSelf({ kind, envs: {}, hasNetwork: true });
  await guest.identify(nobody(), ANSWER_MS.boot);
  for (const { cmd, args } of FIRST_COMMANDS) await guest.exec({ cmd, args });
  if (kind === "desktop") await settleDesktop(guest);
  await guest.warm();
  for (let life = 0; life < LIVES_BEFORE; life += 1) {
    guest.begin();
    await guest.identify(nobody(), ANSWER_MS.boot, true);
    await guest.exec({ cmd: "/bin/true" });
  }
  return guest.nextLife;
}
