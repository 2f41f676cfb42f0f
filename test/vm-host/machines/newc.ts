/** The header of a newc entry: a magic, then 13 numbers of 8 hexadecimal digits (cpio(5), "New ASCII Format"). */
const MAGIC = "070701";
const HEADER_BYTES = 110;
const AT = { mode: 1, size: 6, nameSize: 11 };

interface Unpacked {
  path: string;
  kind: number;
  mode: number;
  text: string;
}

/** The entries of a newc archive, as the kernel reads them. Throws where the archive is none. */
export function unpack(archive: Buffer): Unpacked[] {
  const entries: Unpacked[] = [];
  for (let at = 0; ;) {
    const header = archive.toString("latin1", at, at + HEADER_BYTES);
    if (!/^070701[0-9a-f]{104}$/i.test(header)) throw new Error(`no header at byte ${at}`);
    const number = (index: number): number => {
      const from = MAGIC.length + 8 * index;
      return Number.parseInt(header.slice(from, from + 8), 16);
    };
    const nameEnd = at + HEADER_BYTES + number(AT.nameSize);
    if (archive[nameEnd - 1] !== 0) throw new Error(`the name at byte ${at} has no end`);
    const path = archive.toString("utf8", at + HEADER_BYTES, nameEnd - 1);
    if (path === "TRAILER!!!") return entries;
    const from = aligned(nameEnd);
    const to = from + number(AT.size);
    const mode = number(AT.mode);
    const text = archive.toString("utf8", from, to);
    entries.push({ path, kind: mode & 0o170000, mode: mode & 0o7777, text });
    at = aligned(to);
  }
}

const aligned = (at: number): number => Math.ceil(at / 4) * 4;
