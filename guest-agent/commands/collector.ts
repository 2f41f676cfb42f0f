import type { OutputChannel } from "./output-log.ts";

/** An answer holds two of these and may be 1 MiB long: control characters cost six bytes each in JSON. */
const JSON_CHARACTERS = 480 * 1024;

/** Keeps the beginning of both outputs of a command, as text. */
export class Collector {
  readonly #maxBytes: number;
  readonly #maxJson: number;
  readonly #kept: Record<OutputChannel, Buffer[]> = { 1: [], 2: [] };
  readonly #bytes: Record<OutputChannel, number> = { 1: 0, 2: 0 };
  #isTruncated = false;

  /** `maxJson`: what each of the two may take in JSON. */
  constructor(maxBytes: number, maxJson: number = JSON_CHARACTERS) {
    this.#maxBytes = maxBytes;
    this.#maxJson = maxJson;
  }

  /** Keeps what fits; true, so that the command runs on. */
  take(channel: OutputChannel, bytes: Buffer): boolean {
    const room = this.#maxBytes - this.#bytes[channel];
    if (bytes.length > room) this.#isTruncated = true;
    if (room > 0) this.#kept[channel].push(bytes.subarray(0, room));
    this.#bytes[channel] += Math.min(room, bytes.length);
    return true;
  }

  result(): { stdout: string; stderr: string; truncated?: true } {
    const stdout = this.#text(1);
    const stderr = this.#text(2);
    return { stdout, stderr, ...(this.#isTruncated && { truncated: true as const }) };
  }

  #text(channel: OutputChannel): string {
    const isWhole = this.#bytes[channel] < this.#maxBytes;
    // A character that the cut has parted is left out; what is no UTF-8 becomes a replacement character.
    let text = new TextDecoder().decode(Buffer.concat(this.#kept[channel]), { stream: !isWhole });
    while (Buffer.byteLength(JSON.stringify(text)) > this.#maxJson) {
      text = text.slice(0, Math.floor(text.length / 2));
      this.#isTruncated = true;
    }
    return text;
  }
}
