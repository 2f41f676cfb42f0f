import { nameOf } from "./files.ts";

interface DiskOwner {
  /** Paths; a machine that gets a new layer has it here. */
  readonly layers: readonly string[];
}

/** Disk layers of machines that have not ended: none of them may be removed or merged. */
export class LayersInUse {
  readonly #machines = new Set<DiskOwner>();

  add(machine: DiskOwner): void {
    this.#machines.add(machine);
  }

  delete(machine: DiskOwner): void {
    this.#machines.delete(machine);
  }

  /** Names of files. */
  get names(): string[] {
    return [...this.#machines].flatMap(({ layers }) => layers).map(nameOf);
  }
}
