import { stripVTControlCharacters } from "node:util";

/** A text of somebody else's: no control character of it reaches the terminal. */
export const plain = (text: string): string =>
  stripVTControlCharacters(text).replaceAll(/\p{Cc}/gu, " ");

/** A text of somebody else's in one line, without control characters. */
export const oneLine = (text: string): string => plain(text).replaceAll(/\s+/g, " ").trim();
