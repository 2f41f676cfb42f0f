import { ToolError } from "../tool.ts";

/** A key as `Input.dispatchKeyEvent` wants it. */
export interface Key {
  key: string;
  code: string;
  windowsVirtualKeyCode: number;
  /** What it writes. */
  text?: string;
}

/** A key and the modifiers that are held with it. */
export interface Chord {
  key: Key;
  modifiers: readonly Modifier[];
}

export type Modifier = "Alt" | "Control" | "Meta" | "Shift";
/** As DevTools counts them. */
export const MODIFIER_BITS: Readonly<Record<Modifier, number>> = {
  Alt: 1,
  Control: 2,
  Meta: 4,
  Shift: 8,
};

/** Keys with a name: their virtual key codes, by which the browser finds what they do. */
const NAMED: Readonly<Record<string, number>> = {
  Backspace: 8,
  Tab: 9,
  Enter: 13,
  Shift: 16,
  Control: 17,
  Alt: 18,
  Pause: 19,
  CapsLock: 20,
  Escape: 27,
  Space: 32,
  PageUp: 33,
  PageDown: 34,
  End: 35,
  Home: 36,
  ArrowLeft: 37,
  ArrowUp: 38,
  ArrowRight: 39,
  ArrowDown: 40,
  Insert: 45,
  Delete: 46,
  Meta: 91,
  ContextMenu: 93,
  ...Object.fromEntries(Array.from({ length: 24 }, (_none, at) => [`F${at + 1}`, 112 + at])),
};

/** Other names that people use. */
const ALIASES: Readonly<Record<string, string>> = {
  alt: "Alt",
  cmd: "Meta",
  command: "Meta",
  ctrl: "Control",
  del: "Delete",
  down: "ArrowDown",
  esc: "Escape",
  ins: "Insert",
  left: "ArrowLeft",
  option: "Alt",
  pgdn: "PageDown",
  pgup: "PageUp",
  return: "Enter",
  right: "ArrowRight",
  super: "Meta",
  up: "ArrowUp",
  win: "Meta",
};

/** Signs of a US keyboard: without and with Shift, the key's code and its virtual key code. */
const SIGNS: readonly (readonly [string, string, string, number])[] = [
  [";", ":", "Semicolon", 186],
  ["=", "+", "Equal", 187],
  [",", "<", "Comma", 188],
  ["-", "_", "Minus", 189],
  [".", ">", "Period", 190],
  ["/", "?", "Slash", 191],
  ["`", "~", "Backquote", 192],
  ["[", "{", "BracketLeft", 219],
  ["\\", "|", "Backslash", 220],
  ["]", "}", "BracketRight", 221],
  ["'", '"', "Quote", 222],
  ...")!@#$%^&*("
    .split("")
    .map((sign, digit) => [`${digit}`, sign, `Digit${digit}`, 48 + digit] as const),
];

const BY_LOWER_CASE = new Map(Object.keys(NAMED).map((name) => [name.toLowerCase(), name]));
const NEAR_NAMES = 3;

/** The key that writes a character on a US keyboard; undefined when none does. */
export function keyOf(character: string): (Key & { isShifted: boolean }) | undefined {
  if (character === " ") return { ...named("Space"), isShifted: false };
  if (/^[a-z]$/i.test(character)) {
    const upper = character.toUpperCase();
    return {
      key: character,
      code: `Key${upper}`,
      windowsVirtualKeyCode: upper.charCodeAt(0),
      text: character,
      isShifted: character === upper,
    };
  }
  const sign = SIGNS.find(([plain, shifted]) => plain === character || shifted === character);
  if (!sign) return undefined;
  const [, shifted, code, windowsVirtualKeyCode] = sign;
  const isShifted = character === shifted;
  return { key: character, code, windowsVirtualKeyCode, text: character, isShifted };
}

/** A key with a name. */
export function named(name: string): Key {
  const windowsVirtualKeyCode = NAMED[name] ?? 0;
  if (name === "Space") return { key: " ", code: name, windowsVirtualKeyCode, text: " " };
  if (name === "Enter") return { key: name, code: name, windowsVirtualKeyCode, text: "\r" };
  const isModifier = Object.hasOwn(MODIFIER_BITS, name);
  return { key: name, code: isModifier ? `${name}Left` : name, windowsVirtualKeyCode };
}

/** Reads `Control+Shift+A`, `PageDown`, `+`. A name that no key has is `UnknownKey`, with the names that are near. */
export function chordOf(text: string): Chord {
  // The last plus sign of `Control++` is the key.
  const parts = text.endsWith("+") ? [...text.slice(0, -1).split("+"), "+"] : text.split("+");
  const names = parts.filter((part, at) => part !== "" || at === parts.length - 1);
  const last = names.pop() ?? "";
  const modifiers = names.map((name) => {
    const full = fullName(name) ?? "";
    if (!isModifier(full))
      throw unknown(name, `${name} is no modifier: Control, Shift, Alt and Meta are.`);
    return full;
  });
  const name = fullName(last);
  if (name !== undefined) return { key: named(name), modifiers };
  // Control+A is the chord of the key A: Shift is held only where it is named.
  const character = names.length > 0 && /^[a-z]$/i.test(last) ? cased(last, modifiers) : last;
  const key = keyOf(character);
  if (!key) throw unknown(last, `There is no key "${last}".`);
  const { isShifted, ...rest } = key;
  const needsShift = isShifted && !modifiers.includes("Shift");
  return { key: rest, modifiers: needsShift ? [...modifiers, "Shift"] : modifiers };
}

const cased = (letter: string, modifiers: readonly Modifier[]): string =>
  modifiers.includes("Shift") ? letter.toUpperCase() : letter.toLowerCase();

const isModifier = (name: string): name is Modifier => Object.hasOwn(MODIFIER_BITS, name);

function fullName(name: string): string | undefined {
  const lower = name.trim().toLowerCase();
  const alias = Object.hasOwn(ALIASES, lower) ? ALIASES[lower] : undefined;
  return alias ?? BY_LOWER_CASE.get(lower);
}

function unknown(name: string, reason: string): ToolError {
  const near = [...BY_LOWER_CASE.values()]
    .map((known) => ({ known, far: distance(name.toLowerCase(), known.toLowerCase()) }))
    .sort((left, right) => left.far - right.far)
    .slice(0, NEAR_NAMES)
    .map(({ known }) => known);
  return new ToolError(
    "UnknownKey",
    `${reason} Near names: ${near.join(", ")}. A key is a character, or a name such as Enter, Tab, Escape, PageDown or F5; chords look like Control+A. Text is typed with svc_browser_type.`,
  );
}

/** How many characters have to change to make one word the other. */
function distance(one: string, other: string): number {
  // The name is a model's: of a long one the beginning tells.
  const left = one.slice(0, 20);
  let row = Array.from({ length: other.length + 1 }, (_none, at) => at);
  for (let at = 0; at < left.length; at += 1) {
    const next = [at + 1];
    for (let to = 0; to < other.length; to += 1) {
      const swap = (row[to] ?? 0) + (left[at] === other[to] ? 0 : 1);
      next.push(Math.min(swap, (row[to + 1] ?? 0) + 1, (next[to] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
