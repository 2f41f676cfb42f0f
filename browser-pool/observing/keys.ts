import { KEY_CODES, SIGN_CODES } from "@svc/contract/browser/key-codes.ts";

/** The virtual key code of a key; 0 when it has none that is known. */
export function keyCodeOf(key: string, code: string): number {
  const named = KEY_CODES[key] ?? SIGN_CODES[code];
  if (named !== undefined) return named;
  const [, plain] = /^(?:Key|Digit)(.)$/.exec(code) ?? [];
  const character = plain ?? key;
  return /^[a-z0-9]$/i.test(character) ? character.toUpperCase().charCodeAt(0) : 0;
}

/** The text of a key, also where the person's browser does not say it. */
export const textOf = (key: string, text: string | undefined): string =>
  text ?? (key === "Enter" ? "\r" : "");
