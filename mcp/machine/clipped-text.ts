/** A note in the place of what was dropped. */
const note = (characters: number): string => `\n[… ${characters} characters left out …]\n`;

/** A half of a character, at either end of a cut. */
const HALF_AT_END = /[\ud800-\udbff]$/;
const HALF_AT_START = /^[\udc00-\udfff]/;

/** Text of any length, of which head and tail are kept: it never holds more than about three times `most` characters. */
export class ClippedText {
  readonly #most: number;
  readonly #decoder = new TextDecoder();
  #head = "";
  #tail = "";
  #dropped = 0;

  constructor(most: number) {
    this.#most = most;
  }

  push(bytes: Uint8Array): void {
    this.add(this.#decoder.decode(bytes, { stream: true }));
  }

  add(text: string): void {
    const room = this.#most - this.#head.length;
    this.#head += text.slice(0, room);
    this.#tail += text.slice(room);
    if (this.#tail.length <= 2 * this.#most) return;
    const kept = tailOf(this.#tail, this.#most);
    this.#dropped += this.#tail.length - kept.length;
    this.#tail = kept;
  }

  /** How many characters came. */
  get length(): number {
    return this.#head.length + this.#dropped + this.#tail.length;
  }

  /** The text in at most `most` characters and a note; fewer than were to be kept, or as many. */
  text(most: number): string {
    if (this.length <= most) return this.#head + this.#tail;
    const half = Math.floor(most / 2);
    const head = this.#head.slice(0, half).replace(HALF_AT_END, "");
    const tail = tailOf(this.#head.slice(half) + this.#tail, most - half).replace(
      HALF_AT_START,
      "",
    );
    return head + note(this.length - head.length - tail.length) + tail;
  }
}

const tailOf = (text: string, most: number): string => (most > 0 ? text.slice(-most) : "");

/** A text without its middle, where it is longer. */
export function clip(text: string, most: number): string {
  const clipped = new ClippedText(most);
  clipped.add(text);
  return clipped.text(most);
}

/** Output of a program: both streams together have at most `most` characters in an answer. */
export class ClippedOutput {
  readonly #most: number;
  readonly #streams: { 1: ClippedText; 2: ClippedText };

  constructor(most: number) {
    this.#most = most;
    this.#streams = { 1: new ClippedText(most), 2: new ClippedText(most) };
  }

  readonly push = (channel: 1 | 2, bytes: Uint8Array): void => this.#streams[channel].push(bytes);
  readonly add = (channel: 1 | 2, text: string): void => this.#streams[channel].add(text);

  /** Each stream has half of the room, and what the other one leaves. */
  texts(): { stdout: string; stderr: string; truncated: boolean } {
    const { 1: out, 2: err } = this.#streams;
    const half = Math.floor(this.#most / 2);
    const room = (other: ClippedText): number => this.#most - Math.min(other.length, half);
    return {
      stdout: out.text(room(err)),
      stderr: err.text(Math.min(room(out), this.#most - Math.min(out.length, room(err)))),
      truncated: out.length + err.length > this.#most,
    };
  }
}
