import { isUtf8 } from "node:buffer";

/**
 * Names as bytes, and as the text of a message. `\x80` to `\xff`, in small letters, stand for a byte that is no UTF-8;
 * `\x5c` stands for a backslash that would otherwise begin one of these. Everything else stands for itself: no escape
 * makes a slash, a dot or a NUL.
 */
const ESCAPE = /\\x(5c|[89a-f][0-9a-f])/g;
/** A backslash of a name that a reader would take for an escape. */
const MISLEADING = /\\(?=x(?:5c|[89a-f][0-9a-f]))/g;

/** The encoding in which Node hands out names: a character is a byte. */
export const RAW = "latin1";

/** The bytes of a path, as the file system wants them. */
export function bytesOf(path: string): string | Buffer {
  if (!path.includes("\\x")) return path;
  const parts: Buffer[] = [];
  let at = 0;
  for (const { 0: escape, 1: hex = "", index } of path.matchAll(ESCAPE)) {
    parts.push(Buffer.from(path.slice(at, index)), Buffer.from(hex, "hex"));
    at = index + escape.length;
  }
  parts.push(Buffer.from(path.slice(at)));
  return Buffer.concat(parts);
}

/** The text of a name or path that Node read as `RAW`. */
export function textOf(raw: string): string {
  const bytes = Buffer.from(raw, RAW);
  if (isUtf8(bytes)) return escaped(bytes);
  let text = "";
  let from = 0;
  for (let at = 0; at < bytes.length;) {
    const size = characterAt(bytes, at);
    if (size === 0) {
      text += `${escaped(bytes.subarray(from, at))}\\x${bytes.toString("hex", at, at + 1)}`;
      from = at + 1;
    }
    at += size || 1;
  }
  return text + escaped(bytes.subarray(from));
}

const escaped = (bytes: Buffer): string => bytes.toString().replaceAll(MISLEADING, "\\x5c");

/** The length of the UTF-8 character that begins there, or 0. */
function characterAt(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  const size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const part = bytes.subarray(at, at + size);
  return part.length === size && isUtf8(part) ? size : 0;
}
