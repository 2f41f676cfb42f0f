import { fileURLToPath } from "node:url";
import { Program } from "../service/program.ts";

const MAIN = fileURLToPath(new URL("crowd-main.ts", import.meta.url));

/** The stream that a crowd watches, and the number of its viewers. */
export interface ToWatch {
  url: string;
  key: string;
  viewers: number;
}

/** Viewers in a process of their own: their frames must not wait in the loop whose round trips are measured. */
export class Crowd {
  readonly #program: Program;

  private constructor(program: Program) {
    this.#program = program;
  }

  /** Resolves once each viewer has its first frame. */
  static async open(watch: ToWatch): Promise<Crowd> {
    const program = new Program([MAIN]);
    program.child.send(watch);
    await program.says(/(watching)/);
    return new Crowd(program);
  }

  /** Resolves once all viewers have left. */
  close(): Promise<void> {
    return this.#program.stop();
  }
}
