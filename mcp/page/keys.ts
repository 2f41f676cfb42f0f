import { KEY_CODES, SIGN_CODES } from "@svc/contract/browser/key-codes.ts";
import { ToolError } from "../tool.ts";

/** A key as `Input.dispatchKeyEvent` wants it. */
export interface Key {
  key: string;
  code: string;
  windowsVirtualKeyCode: number;
  /** The text that the key writes. */
  text?: string;
}

/** A key and the modifiers that are held with it. */
export interface Chord {
  key: Key;
  modifiers: readonly Modifier[];
}

export type Modifier = "Alt" | "Control" | "Meta" | "Shift";
/** Modifiers as DevTools counts them. */
export const MODIFIER_BITS: Readonly<Record<Modifier, number>> = {
  Alt: 1,
  Control: 2,
  Meta: 4,
  Shift: 8,
};

/** Keys with a name, as people write them. */
const { " ": SPACE = 0, ...OTHERS } = KEY_CODES;
const NAMED: Readonly<Record<string, number>> = { ...OTHERS, Space: SPACE };

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

/** Signs of a US keyboard: without and with Shift, and the key's code. */
const SIGNS: readonly (readonly [string, string, string])[] = [
  [";", ":", "Semicolon"],
  ["=", "+", "Equal"],
  [",", "<", "Comma"],
  ["-", "_", "Minus"],
  [".", ">", "Period"],
  ["/", "?", "Slash"],
  ["`", "~", "Backquote"],
  ["[", "{", "BracketLeft"],
  ["\\", "|", "Backslash"],
  ["]", "}", "BracketRight"],
  ["'", '"', "Quote"],
  ...")!@#$%^&*(".split("").map((sign, digit) => [`${digit}`, sign, `Digit${digit}`] as const),
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
  const [plain, shifted, code] = sign;
  // Of a digit its character is the code.
  const windowsVirtualKeyCode = SIGN_CODES[code] ?? plain.charCodeAt(0);
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
