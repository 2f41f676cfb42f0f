import { ACTION, STATE, TABLE } from "./json-table.ts";

/** As deep as Chromium reads. It answers deeper messages without their id, so that nobody knows whose answer that is. */
export const DEEPEST = 300;
/** More members than an envelope has in any version; a message with more of them is refused. */
const MOST_MEMBERS = 64;
/** Chromium answers numbers that no double holds without an id, too. */
const MOST_DIGITS = 309;
const LEAP_BYTES = 24;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;

/** Where a member of the outermost object stands: its name from `keyStart`, its value between `start` and `end`. */
export interface Member {
  keyStart: number;
  keyEnd: number;
  start: number;
  end: number;
}

/**
 * Reads a JSON object piece by piece, and finds its members without building anything of what is in them. What it
 * accepts is JSON to every reader, so that no other one sees other members.
 */
export class MemberScanner {
  readonly members: Member[] = [];
  #state: number = STATE.start;
  #isKey = false;
  readonly #isArray = new Uint8Array(DEEPEST + 1);
  #depth = 0;
  #keyStart = 0;
  #keyEnd = 0;
  #base = 0;
  #numberStart = 0;
  #digits = 0;
  #power = 0;
  #isSmall = false;
  #quote = -1;
  #backslash = -1;

  /** Takes the next piece. */
  push(piece: Buffer): void {
    if (piece.includes(0)) this.#state = STATE.fail;
    this.#quote = -1;
    this.#backslash = -1;
    let at = 0;
    while (at < piece.length && this.#state !== STATE.fail) at = this.#read(piece, at);
    this.#base += piece.length;
  }

  /** Whether the pieces were one whole object. */
  get isWhole(): boolean {
    return this.#state === STATE.done;
  }

  /** Reads to the next byte that does something, and does it. Returns where it stopped. */
  #read(piece: Buffer, from: number): number {
    let at = from;
    let state = this.#state;
    const leapAt = from + LEAP_BYTES;
    while (at < piece.length) {
      const byte = piece[at] ?? 0;
      const next = TABLE[(state << 8) | byte] ?? 0;
      if (next >= 64) {
        this.#state = state;
        this.#act(next, at);
        if (isNumber(state)) this.#number(state, next, byte, at);
        return at + 1;
      }
      if (isNumber(state) || isNumber(next)) this.#number(state, next, byte, at);
      state = this.#state === STATE.fail ? STATE.fail : next;
      at += 1;
      if (state === STATE.fail) break;
      if (state === STATE.text && at >= leapAt) break;
    }
    this.#state = state;
    return state === STATE.text ? this.#leap(piece, at) : at;
  }

  /** To the next byte of a text that is not part of it. */
  #leap(piece: Buffer, at: number): number {
    if (this.#quote < at) this.#quote = placeOf(piece, QUOTE, at);
    if (this.#backslash < at) this.#backslash = placeOf(piece, BACKSLASH, at);
    return Math.min(this.#quote, this.#backslash);
  }

  /** Follows a number whose reader goes from a state to the next one. */
  #number(state: number, next: number, byte: number, at: number): void {
    if (!isNumber(state)) {
      this.#numberStart = this.#base + at;
      this.#power = 0;
      this.#isSmall = false;
    } else if ((state === STATE.int || state === STATE.zero) && next !== state) {
      this.#digits = this.#base + at - this.#numberStart;
    }
    if (next === STATE.sign) this.#isSmall = byte === MINUS;
    if (next === STATE.power) this.#power = Math.min(this.#power * 10 + byte - ZERO, 1e9);
    else if (!isNumber(next) && !this.#isSmall && this.#digits + this.#power > MOST_DIGITS)
      this.#state = STATE.fail;
  }

  #act(action: number, at: number): void {
    if (action === ACTION.openText || action === ACTION.openKey) {
      this.#isKey = action === ACTION.openKey;
      if (this.#isKey && this.#depth === 1) this.#keyStart = this.#base + at;
      this.#state = STATE.text;
    } else if (action === ACTION.closeText) {
      this.#state = this.#isKey ? STATE.colon : STATE.after;
    } else if (action === ACTION.colon) {
      if (this.#depth === 1) this.#keyEnd = this.#base + at;
      this.#state = STATE.value;
    } else if (action === ACTION.comma) this.#comma(at);
    else if (action === ACTION.openObject || action === ACTION.openArray)
      this.#open(action === ACTION.openArray);
    else this.#close(action === ACTION.closeArray, at);
  }

  #open(isArray: boolean): void {
    this.#depth += 1;
    this.#isArray[this.#depth] = Number(isArray);
    this.#state = isArray ? STATE.firstValue : STATE.firstKey;
    if (this.#depth > DEEPEST) this.#state = STATE.fail;
  }

  #comma(at: number): void {
    if (this.#depth === 1) this.#memberEnds(at);
    this.#state = this.#isArray[this.#depth] ? STATE.value : STATE.key;
    if (this.members.length > MOST_MEMBERS) this.#state = STATE.fail;
  }

  #close(isArray: boolean, at: number): void {
    if (this.#isArray[this.#depth] !== Number(isArray)) {
      this.#state = STATE.fail;
      return;
    }
    if (this.#depth === 1 && this.#state !== STATE.firstKey) this.#memberEnds(at);
    this.#depth -= 1;
    this.#state = this.#depth === 0 ? STATE.done : STATE.after;
  }

  #memberEnds(at: number): void {
    const end = this.#base + at;
    this.members.push({
      keyStart: this.#keyStart,
      keyEnd: this.#keyEnd,
      start: this.#keyEnd + 1,
      end,
    });
  }
}

function placeOf(piece: Buffer, byte: number, from: number): number {
  const at = piece.indexOf(byte, from);
  return at < 0 ? piece.length : at;
}

function isNumber(state: number): boolean {
  return state >= STATE.minus && state <= STATE.power;
}
