/**
 * Random bytes that begin a new life of a port. A machine that is paused may hold half a frame in either
 * direction; after the restore the host writes the word, and each side drops the bytes before it.
 */
export const SYNC_WORD_BYTES = 32;

/**
 * The word of a guest at its first boot, with no customer inside. `identity.set` brings a secret word for the next
 * life, so that no data of a customer can be taken for it.
 */
export const FIRST_SYNC_WORD: Uint8Array = Uint8Array.from(
  { length: SYNC_WORD_BYTES },
  (_, at) => (at * 151 + 0xf5) & 0xff,
);

/** The answer to a word: its complement. Never the word itself, so that two sides cannot go on answering each other. */
export const answerTo = (word: Uint8Array): Uint8Array => word.map((byte) => ~byte);

/** Finds the word in a stream of chunks, also across their edges. */
export class SyncScanner {
  #word: Uint8Array;
  #steps: Uint8Array;
  #tail: Uint8Array = new Uint8Array();

  constructor(word: Uint8Array) {
    this.#word = word;
    this.#steps = stepsOf(word);
  }

  get word(): Uint8Array {
    return this.#word;
  }

  /** Looks for another word from here on. */
  use(word: Uint8Array): void {
    this.#word = word;
    this.#steps = stepsOf(word);
    this.#tail = new Uint8Array();
  }

  /** Where in the chunk the word ends, for its last appearance; -1 when it is not there. */
  push(chunk: Uint8Array): number {
    let end = this.#acrossEdge(chunk);
    const last = lastIndexOf(chunk, this.#word, this.#steps);
    if (last >= 0) end = last + this.#word.length;
    this.#tail = end >= 0 ? chunk.slice(end).slice(-this.#keep) : this.#newTail(chunk);
    return end;
  }

  get #keep(): number {
    return this.#word.length - 1;
  }

  #newTail(chunk: Uint8Array): Uint8Array {
    if (chunk.length >= this.#keep) return chunk.slice(-this.#keep);
    return concat(this.#tail, chunk).slice(-this.#keep);
  }

  #acrossEdge(chunk: Uint8Array): number {
    if (this.#tail.length === 0) return -1;
    const seam = concat(this.#tail, chunk.subarray(0, this.#keep));
    const at = lastIndexOf(seam, this.#word, this.#steps);
    return at < 0 ? -1 : at + this.#word.length - this.#tail.length;
  }
}

function concat(left: Uint8Array, right: Uint8Array): Uint8Array {
  const both = new Uint8Array(left.length + right.length);
  both.set(left);
  both.set(right, left.length);
  return both;
}

/**
 * From the end, in steps as long as the word: what passes here is all that a port carries, and an emulated machine pays
 * for every look at a byte.
 */
function lastIndexOf(bytes: Uint8Array, word: Uint8Array, steps: Uint8Array): number {
  let at = bytes.length - word.length;
  while (at >= 0) {
    if (matches(bytes, at, word)) return at;
    at -= steps[bytes[at] ?? 0] ?? 1;
  }
  return -1;
}

/** By the byte at the head of the window: how far back the word may begin at the earliest. */
function stepsOf(word: Uint8Array): Uint8Array {
  const steps = new Uint8Array(256).fill(word.length);
  for (let index = word.length - 1; index > 0; index -= 1) steps[word[index] ?? 0] = index;
  return steps;
}

function matches(bytes: Uint8Array, at: number, word: Uint8Array): boolean {
  for (let index = 0; index < word.length; index += 1)
    if (bytes[at + index] !== word[index]) return false;
  return true;
}
