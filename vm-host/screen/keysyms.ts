import { refuse } from "@svc/contract/control-channel/refusals.ts";

/** Numbers of keys by their X names (X11/keysymdef.h). Characters have their own: `keysymOf`. */
const NAMED: Record<string, number> = {
  BackSpace: 0xff08,
  Tab: 0xff09,
  Return: 0xff0d,
  Pause: 0xff13,
  Scroll_Lock: 0xff14,
  Escape: 0xff1b,
  Home: 0xff50,
  Left: 0xff51,
  Up: 0xff52,
  Right: 0xff53,
  Down: 0xff54,
  Page_Up: 0xff55,
  Page_Down: 0xff56,
  End: 0xff57,
  Print: 0xff61,
  Insert: 0xff63,
  Menu: 0xff67,
  Num_Lock: 0xff7f,
  KP_Enter: 0xff8d,
  Shift_L: 0xffe1,
  Shift_R: 0xffe2,
  Control_L: 0xffe3,
  Control_R: 0xffe4,
  Caps_Lock: 0xffe5,
  Alt_L: 0xffe9,
  Alt_R: 0xffea,
  Super_L: 0xffeb,
  Super_R: 0xffec,
  ISO_Level3_Shift: 0xfe03,
  Delete: 0xffff,
  space: 0x20,
  plus: 0x2b,
  minus: 0x2d,
  ...Object.fromEntries(Array.from({ length: 24 }, (_, at) => [`F${at + 1}`, 0xffbe + at])),
};

/** What people call keys besides. */
const OTHER_NAMES: Record<string, string> = {
  alt: "Alt_L",
  altgr: "ISO_Level3_Shift",
  backspace: "BackSpace",
  cmd: "Super_L",
  control: "Control_L",
  ctrl: "Control_L",
  del: "Delete",
  enter: "Return",
  esc: "Escape",
  meta: "Super_L",
  pagedown: "Page_Down",
  pageup: "Page_Up",
  prior: "Page_Up",
  next: "Page_Down",
  shift: "Shift_L",
  super: "Super_L",
  win: "Super_L",
};

const BY_LOWER_CASE = new Map<string, number>(
  Object.entries(NAMED).map(([name, keysym]) => [name.toLowerCase(), keysym]),
);
for (const [other, name] of Object.entries(OTHER_NAMES))
  BY_LOWER_CASE.set(other, BY_LOWER_CASE.get(name.toLowerCase()) ?? 0);

/** Characters beyond Latin 1 have the number of their code point above this. */
const UNICODE = 0x0100_0000;
const NEAREST = 3;

/** The key that types a character. */
export function keysymOf(character: string): number {
  if (character === "\n") return 0xff0d;
  if (character === "\t") return 0xff09;
  const point = character.codePointAt(0) ?? 0;
  return point <= 0xff ? point : UNICODE + point;
}

/** The keys of a chord, in the order in which they go down: `ctrl+shift+t`, `ctrl++`. Throws `UnknownKey`. */
export function chordOf(chord: string): number[] {
  const isPlus = chord === "+" || chord.endsWith("++");
  const names = isPlus ? [...chord.slice(0, -2).split("+").filter(Boolean), "+"] : chord.split("+");
  return names.map(keyNamed);
}

function keyNamed(name: string): number {
  const named = BY_LOWER_CASE.get(name.toLowerCase());
  if (named !== undefined) return named;
  if (Array.from(name).length === 1) return keysymOf(name);
  const hint = nearest(name).join(", ");
  throw refuse("UnknownKey", `There is no key ${name}. The nearest are ${hint}.`);
}

/** Names that share most pairs of letters with a wrong one. */
function nearest(name: string): string[] {
  const wanted = pairsOf(name);
  const score = (other: string): number =>
    [...pairsOf(other)].filter((pair) => wanted.has(pair)).length / (other.length + name.length);
  const all = [...Object.keys(NAMED), ...Object.keys(OTHER_NAMES)];
  return all.toSorted((left, right) => score(right) - score(left)).slice(0, NEAREST);
}

const pairsOf = (name: string): Set<string> =>
  new Set(
    Array.from(name.toLowerCase(), (letter, at) => letter + (name[at + 1] ?? "").toLowerCase()),
  );
