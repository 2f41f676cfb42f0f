import { writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import type {
  Machine,
  MachineSpec,
  SavedMachine,
  Saved,
  GoldenMachine,
  VmDriver,
} from "../../../vm-host/driver.ts";

/** Machines that are nothing but files: for what is true of every driver. */
export class FakeDriver implements VmDriver {
  readonly name = "fake";
  readonly capabilities = new Set<never>();
  readonly version: string = "1";
  readonly accelerator = { name: "tcg", reason: "", bootMs: 0 } as const;
  readonly platform = {
    driver: "fake",
    accelerator: "tcg",
    qemu: "1",
    machine: "",
    cpu: "",
  } as const;
  boots = 0;
  /** What the next boots do instead. */
  fault: Error | null = null;
  memoryBytes = 4096;

  async boot(spec: MachineSpec, memoryFile?: string): Promise<Machine> {
    this.boots += 1;
    if (this.fault) throw this.fault;
    if (memoryFile !== undefined) await writeFile(memoryFile, Buffer.alloc(this.memoryBytes, 1));
    return fakeMachine(spec);
  }

  async freeze(_machine: Machine, folder: string): Promise<void> {
    for (const file of ["state", "disk.qcow2"]) await writeFile(join(folder, file), file);
  }

  async close(): Promise<void> {}

  async clone({ spec }: GoldenMachine): Promise<Machine> {
    return fakeMachine(spec);
  }

  async save(): Promise<Saved> {
    return { mode: "delta", pages: 0 };
  }

  async newLayer(): Promise<string> {
    return "";
  }

  async useLayer(): Promise<void> {}

  async unlayer(): Promise<void> {}

  async merge(): Promise<void> {}

  async flatten(): Promise<string> {
    return "";
  }

  async spread(): Promise<void> {}

  async settle(): Promise<void> {}

  async settleGolden(): Promise<void> {}

  async restore({ spec }: SavedMachine): Promise<Machine> {
    return fakeMachine(spec);
  }
}

function fakeMachine(spec: MachineSpec): Machine {
  const { promise, resolve } = Promise.withResolvers<string>();
  return {
    name: "fake",
    spec,
    golden: null,
    layers: [],
    diskGb: spec.image.sizeGb,
    exited: promise,
    openStream: (): Socket => {
      throw new Error("a fake machine has no ports");
    },
    stop: async () => {},
    cont: async () => {},
    setNetwork: async () => {},
    growDisk: async () => {},
    volumes: [],
    plug: async () => {},
    unplug: async () => {},
    written: async () => null,
    yield: async () => {},
    usage: async () => null,
    console: async () => "",
    keepDisk: () => {},
    quit: async () => resolve(""),
    destroy: async () => resolve(""),
  };
}
