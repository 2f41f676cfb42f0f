import { StringDecoder } from "node:string_decoder";
import { TextDecoder } from "node:util";
import { EXEC_OUTPUT_BYTES } from "@svc/contract/control-channel/protocol.ts";
import { ContractBreach } from "@svc/contract/control-channel/rpc-error.ts";

const FIRST_BLOCK_BYTES = 4 * 1024;
const BLOCK_BYTES = 64 * 1024;
/** Bytes that a host keeps of all commands of a machine at once: two whole answers of two streams. */
export const KEPT_BYTES = 4 * EXEC_OUTPUT_BYTES;

/** Bytes that a machine's commands have printed and nobody has read yet. */
export class KeptBytes {
  #bytes = 0;

  get room(): number {
    return KEPT_BYTES - this.#bytes;
  }

  take(bytes: number): void {
    this.#bytes += bytes;
  }
}

/** The output of a command, copied into blocks: pieces as small as the guest likes cost no more than their bytes. */
export class KeptOutput {
  /** Some of it was not kept: the machine's commands print too much at once. */
  isCut = false;
  /** Whether all that `pieces` has given so far is UTF-8. A character that a cut has parted counts as whole. */
  isUtf8 = true;
  readonly #kept: KeptBytes;
  readonly #blocks: Buffer[] = [];
  #usedOfLast = 0;
  #bytes = 0;
  /** Of all that came, kept or not. */
  #cameBytes = 0;

  constructor(kept: KeptBytes) {
    this.#kept = kept;
  }

  /** Throws a `ContractBreach` when the agent sends more than it was told to. */
  add(bytes: Uint8Array): void {
    this.#cameBytes += bytes.length;
    if (this.#cameBytes > EXEC_OUTPUT_BYTES)
      throw new ContractBreach(`a command printed more than ${EXEC_OUTPUT_BYTES} bytes`);
    const taken = bytes.subarray(0, Math.max(0, this.#kept.room));
    if (taken.length < bytes.length) this.isCut = true;
    this.#kept.take(taken.length);
    for (let at = 0; at < taken.length;) at += this.#copy(taken.subarray(at));
  }

  #copy(bytes: Uint8Array): number {
    let last = this.#blocks.at(-1);
    if (!last || this.#usedOfLast === last.length) {
      last = Buffer.allocUnsafeSlow(
        Math.min(BLOCK_BYTES, Math.max(FIRST_BLOCK_BYTES, this.#bytes)),
      );
      this.#blocks.push(last);
      this.#usedOfLast = 0;
    }
    const part = bytes.subarray(0, last.length - this.#usedOfLast);
    last.set(part, this.#usedOfLast);
    this.#usedOfLast += part.length;
    this.#bytes += part.length;
    return part.length;
  }

  /** The text of the output in pieces, none of which ends within a character. */
  *pieces(): Generator<string> {
    const decoder = new StringDecoder("utf8");
    const strict = new TextDecoder("utf-8", { fatal: true });
    for (const [at, block] of this.#blocks.entries()) {
      const isLast = at === this.#blocks.length - 1;
      const bytes = isLast ? block.subarray(0, this.#usedOfLast) : block;
      const isParted = !isLast || this.isCut || this.#cameBytes === EXEC_OUTPUT_BYTES;
      this.isUtf8 &&= decodes(strict, bytes, isParted);
      yield decoder.write(bytes);
    }
    yield decoder.end();
  }

  text(): string {
    return [...this.pieces()].join("");
  }

  /** Forgets it, and gives its bytes back to the machine. */
  free(): void {
    this.#blocks.length = 0;
    this.#kept.take(-this.#bytes);
    this.#bytes = 0;
  }
}

/** Whether bytes are UTF-8. `isParted`: the last character may go on beyond them. */
function decodes(strict: TextDecoder, bytes: Buffer, isParted: boolean): boolean {
  try {
    strict.decode(bytes, { stream: isParted });
    return true;
  } catch {
    return false;
  }
}
