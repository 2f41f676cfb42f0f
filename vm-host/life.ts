import * as z from "zod";

/** How the next life of a guest agent begins (contract/control-channel/link.ts). */
export interface LifeStart {
  /** The sync word that the agent waits for. Secret. */
  word: Uint8Array;
  /** How many lives the agent has had. */
  generation: number;
}

/** A `LifeStart` as it lies in a file: the word in hexadecimal. */
export const StoredLife = z.object({ word: z.string(), generation: z.int() });
export type StoredLife = z.infer<typeof StoredLife>;

export function storedLife({ word, generation }: LifeStart): StoredLife {
  return { word: Buffer.from(word).toString("hex"), generation };
}

/** The life that a record or a golden machine begins with. */
export function lifeOf({ life: { word, generation } }: { life: StoredLife }): LifeStart {
  return { word: Buffer.from(word, "hex"), generation };
}
