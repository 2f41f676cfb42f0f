import { SessionFileName } from "@svc/contract/browser/session-file.ts";
import { LIMITS } from "@svc/contract/limits.ts";

/** Characters that no name may have. */
const UNFIT = /[\p{Cc}\p{Surrogate}\u202A-\u202E\u2066-\u2069/\\]/gu;
const ENDING_BYTES = 32;
const NAMELESS = "download";

/** The name under which a download is kept: what a site proposed, made fit for a file and for a header. */
export function fitName(proposed: string): string {
  const name = shortened(proposed.replaceAll(UNFIT, "_"), "");
  return SessionFileName.safeParse(name).success ? name : NAMELESS;
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
  const ending = Buffer.byteLength(found) <= ENDING_BYTES ? found : "";
  const stem = ending === "" ? name : name.slice(0, dot);
  const room = LIMITS.sessionFileNameBytes - Buffer.byteLength(mark + ending);
  return cut(stem, room) + mark + ending;
}

/** As many whole characters as fit into so many bytes. */
function cut(text: string, bytes: number): string {
  let left = bytes;
  let kept = "";
  for (const character of text) {
    left -= Buffer.byteLength(character);
    if (left < 0) break;
    kept += character;
  }
  return kept;
}
