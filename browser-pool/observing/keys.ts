/** Windows virtual key codes, by which the browser finds what a key does: of keys with a name, by `key`. */
const NAMED: Record<string, number> = {
  Backspace: 8,
  Tab: 9,
  Enter: 13,
  Shift: 16,
  Control: 17,
  Alt: 18,
  Pause: 19,
  CapsLock: 20,
  Escape: 27,
  " ": 32,
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
};
/** Of keys that write something else than a letter or a digit, by `code`. */
const SIGNS: Record<string, number> = {
  Semicolon: 186,
  Equal: 187,
  Comma: 188,
  Minus: 189,
  Period: 190,
  Slash: 191,
  Backquote: 192,
  BracketLeft: 219,
  Backslash: 220,
  BracketRight: 221,
  Quote: 222,
};
const F1 = 112;

/** The virtual key code of a key; 0 when it has none that is known. */
export function keyCodeOf(key: string, code: string): number {
  const named = NAMED[key] ?? SIGNS[code];
  if (named !== undefined) return named;
  const [, functionKey] = /^F(\d{1,2})$/.exec(key) ?? [];
  if (functionKey) return F1 + Number(functionKey) - 1;
  const [, plain] = /^(?:Key|Digit)(.)$/.exec(code) ?? [];
  const character = plain ?? key;
  return /^[a-z0-9]$/i.test(character) ? character.toUpperCase().charCodeAt(0) : 0;
}

/** The text of a key, also where the person's browser does not say it. */
export const textOf = (key: string, text: string | undefined): string =>
  text ?? (key === "Enter" ? "\r" : "");
