/** States of a reader of JSON, byte by byte. Higher numbers are actions. */
export const STATE = {
  fail: 0,
  start: 1,
  firstKey: 2,
  key: 3,
  colon: 4,
  value: 5,
  firstValue: 6,
  after: 7,
  text: 8,
  escape: 9,
  hex4: 10,
  hex3: 11,
  hex2: 12,
  hex1: 13,
  minus: 14,
  zero: 15,
  int: 16,
  point: 17,
  fraction: 18,
  exponent: 19,
  sign: 20,
  power: 21,
  done: 22,
} as const;
/** Actions of bytes that do more than lead to another state. */
export const ACTION = {
  openObject: 64,
  openArray: 65,
  closeObject: 66,
  closeArray: 67,
  comma: 68,
  colon: 69,
  openKey: 70,
  openText: 71,
  closeText: 72,
} as const;

const FIRST_WORD_STATE = 23;
const SPACE = " \t\n\r";
const DIGITS = "0123456789";
const HEX = `${DIGITS}abcdefABCDEF`;

/** The next state or action, by `state << 8 | byte`. */
export const TABLE = tableOf();

function tableOf(): Uint8Array {
  const table = new Uint8Array(64 << 8);
  const on = (state: number, characters: string, next: number): void => {
    for (const character of characters) table[(state << 8) | character.charCodeAt(0)] = next;
  };
  const { start, firstKey, key, colon, value, firstValue, after, done } = STATE;
  for (const state of [start, firstKey, key, colon, value, firstValue, after, done])
    on(state, SPACE, state);
  on(start, "{", ACTION.openObject);
  for (const state of [firstKey, key]) on(state, '"', ACTION.openKey);
  on(firstKey, "}", ACTION.closeObject);
  on(colon, ":", ACTION.colon);
  onValues(on);
  on(firstValue, "]", ACTION.closeArray);
  onTexts(on, table);
  onNumbers(on);
  const { zero, int, fraction, power } = STATE;
  for (const state of [after, zero, int, fraction, power]) {
    if (state !== after) on(state, SPACE, after);
    on(state, ",", ACTION.comma);
    on(state, "}", ACTION.closeObject);
    on(state, "]", ACTION.closeArray);
  }
  return table;
}

type On = (state: number, characters: string, next: number) => void;

function onValues(on: On): void {
  let word = FIRST_WORD_STATE;
  const starts: [string, number][] = [];
  for (const text of ["true", "false", "null"]) {
    starts.push([text.charAt(0), word]);
    for (let at = 1; at < text.length; at += 1) {
      on(word, text.charAt(at), at === text.length - 1 ? STATE.after : word + 1);
      word += 1;
    }
  }
  for (const state of [STATE.value, STATE.firstValue]) {
    on(state, "{", ACTION.openObject);
    on(state, "[", ACTION.openArray);
    on(state, '"', ACTION.openText);
    on(state, "-", STATE.minus);
    on(state, "0", STATE.zero);
    on(state, "123456789", STATE.int);
    for (const [first, next] of starts) on(state, first, next);
  }
}

// As in Chromium's reader a control character may stand in a text.
function onTexts(on: On, table: Uint8Array): void {
  const { text, escape, hex1, hex2, hex3, hex4 } = STATE;
  table.fill(text, (text << 8) | 1, (text << 8) | 256);
  on(text, '"', ACTION.closeText);
  on(text, "\\", escape);
  on(escape, '"\\/bfnrt', text);
  on(escape, "u", hex4);
  on(hex4, HEX, hex3);
  on(hex3, HEX, hex2);
  on(hex2, HEX, hex1);
  on(hex1, HEX, text);
}

function onNumbers(on: On): void {
  const { minus, zero, int, point, fraction, exponent, sign, power } = STATE;
  on(minus, "0", zero);
  on(minus, "123456789", int);
  on(int, DIGITS, int);
  for (const state of [zero, int]) on(state, ".", point);
  for (const state of [point, fraction]) on(state, DIGITS, fraction);
  for (const state of [zero, int, fraction]) on(state, "eE", exponent);
  on(exponent, "+-", sign);
  for (const state of [exponent, sign, power]) on(state, DIGITS, power);
}
