/** The longest name of a file: what file systems take. */
export const FILE_NAME_BYTES = 255;
/** Control characters, those that turn the direction of a line, and what no file system takes. */
export const UNFIT = /[\p{Cc}\p{Surrogate}\u202A-\u202E\u2066-\u2069/]/u;

const REPLACED = /[\p{Cc}\p{Surrogate}\u202A-\u202E\u2066-\u2069/\\]/gu;
const ENDING_BYTES = 32;

export const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** A proposed name made fit for a file and for a header; `nameless` for one of which nothing is left. */
export function fitName(proposed: string, nameless: string): string {
  const name = shortened(proposed.replaceAll(REPLACED, "_"), "");
  return /^\.{0,2}$/.test(name) ? nameless : name;
}

/** The first of `name`, `name (1)`, `name (2)`, … that is free. */
export function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let count = 1; isTaken(free); count += 1) free = shortened(name, ` (${count})`);
  return free;
}

/** A name with a mark before its ending, cut so that both fit. */
function shortened(name: string, mark: string): string {
  const dot = name.lastIndexOf(".");
  const found = dot > 0 ? name.slice(dot) : "";
  const ending = bytesOf(found) <= ENDING_BYTES ? found : "";
  const stem = ending === "" ? name : name.slice(0, dot);
  return cut(stem, FILE_NAME_BYTES - bytesOf(mark + ending)) + mark + ending;
}

/** As many whole characters as fit into so many bytes. */
function cut(text: string, bytes: number): string {
  let left = bytes;
  let kept = "";
  for (const character of text) {
    left -= bytesOf(character);
    if (left < 0) break;
    kept += character;
  }
  return kept;
}
