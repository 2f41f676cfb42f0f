import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { VmPlaced } from "@svc/contract/host-protocol/vms.ts";
import type { Capability, LifeStart, Machine, MachineSpec, Template, VmDriver } from "../driver.ts";
import { Guest } from "../guest/guest.ts";
import { newSelf } from "../guest/identity.ts";
import type { Templates } from "../templates/templates.ts";

/** How long a new machine's agent may take to answer. A busy host emulates slowly: this ends only what never comes up. */
export const ANSWER_MS = { boot: 180_000, clone: 60_000, warm: 60_000, fork: 60_000 } as const;
// The caches of the boot only make the template larger; those of the first commands are worth keeping.
const FIRST_COMMANDS = [
  { cmd: "sh", args: ["-c", "sync; echo 3 > /proc/sys/vm/drop_caches"] },
  { cmd: "/bin/true", args: [] },
  { cmd: "sh", args: ["-c", "true"] },
  { cmd: "python3", args: ["-c", "print(1)"] },
];

/** So often a machine takes an identity before it is a template: compiled once is not yet compiled for what it sees. */
const LIVES_BEFORE = 3;

/** A running machine that nobody owns yet. */
export interface Made {
  machine: Machine;
  guest: Guest;
  how: VmPlaced["how"];
}

/** Makes machines: from a template where there is one, else by a boot while the template is built behind it. */
export class Maker {
  readonly #driver: VmDriver;
  readonly #templates: Templates;
  readonly #log: Log;
  /** A template became usable. */
  readonly #onTemplate: () => void;

  constructor(driver: VmDriver, templates: Templates, log: Log, onTemplate: () => void) {
    this.#driver = driver;
    this.#templates = templates;
    this.#log = log;
    this.#onTemplate = onTemplate;
  }

  can(capability: Capability): boolean {
    return this.#driver.capabilities.has(capability);
  }

  async make(spec: MachineSpec): Promise<Made> {
    const template = await this.#templates.find(spec);
    const clone = template && (await this.#clone(template));
    if (clone) return clone;
    const made = await this.#boot(spec);
    // The boot goes on when it is handed on; its build waits until it is over, and until no other one is under way.
    this.prepare(spec);
    return made;
  }

  /** A clone, or null where there is no template. */
  async cloneOf(spec: MachineSpec): Promise<Made | null> {
    const template = await this.#templates.find(spec);
    return template && this.#clone(template);
  }

  /** Builds the template of a machine like this in the background, once the host boots nothing, unless it is there. */
  prepare(spec: MachineSpec): void {
    void (async () => {
      if ((await this.#templates.find(spec)) ?? (await this.#templates.build(spec)))
        this.#onTemplate();
    })();
  }

  async #boot(spec: MachineSpec): Promise<Made> {
    const machine = await this.#driver.boot(spec);
    const guest = new Guest(machine);
    this.#templates.boots.add(Promise.race([guest.identified, machine.exited]));
    return { machine, guest, how: "boot" };
  }

  async #clone(template: Template): Promise<Made | null> {
    try {
      const machine = await this.#driver.clone(template);
      await machine.cont();
      return { machine, guest: new Guest(machine, template.life), how: "clone" };
    } catch (error) {
      this.#log.error({ reason: messageOf(error) }, "a template could not be cloned");
      return null;
    }
  }
}

/** Waits for a booted machine's agent and runs what its clones will run first, so that it is loaded and compiled. */
export async function settle(machine: Machine): Promise<LifeStart> {
  const guest = new Guest(machine);
  await guest.identify(newSelf({}, true), ANSWER_MS.boot);
  for (const { cmd, args } of FIRST_COMMANDS) await guest.exec({ cmd, args });
  for (let life = 0; life < LIVES_BEFORE; life += 1) {
    guest.begin();
    await guest.identify(newSelf({}, true), ANSWER_MS.boot, true);
    await guest.exec({ cmd: "/bin/true" });
  }
  return guest.nextLife;
}
