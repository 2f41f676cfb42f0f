const TRAILER = "TRAILER!!!";

/** An entry of an archive that the kernel unpacks at boot. Folders come before what is in them. */
export interface Entry {
  /** Relative, without a slash in front. */
  path: string;
  /** Permission bits. */
  mode: number;
  content: Buffer | "folder" | { linkTo: string };
}

const KINDS = { file: 0o100000, folder: 0o040000, link: 0o120000 };

/** The `newc` archive of these entries: the same bytes for the same entries. */
export function archiveOf(entries: Entry[]): Buffer {
  const parts = [...entries, { path: TRAILER, mode: 0, content: Buffer.alloc(0) }];
  return Buffer.concat(parts.flatMap((entry, index) => encode(entry, index + 1)));
}

function encode({ path, mode, content }: Entry, inode: number): Buffer[] {
  const isFolder = content === "folder";
  const body = isFolder
    ? Buffer.alloc(0)
    : Buffer.isBuffer(content)
      ? content
      : Buffer.from(content.linkTo);
  const kind = isFolder ? KINDS.folder : Buffer.isBuffer(content) ? KINDS.file : KINDS.link;
  const name = Buffer.from(`${path}\0`);
  const fields = [inode, path === TRAILER ? 0 : kind | mode, 0, 0, 1, 0, body.length];
  const numbers = [...fields, 0, 0, 0, 0, name.length, 0];
  const header = `070701${numbers.map((number) => number.toString(16).padStart(8, "0")).join("")}`;
  return [padded(Buffer.concat([Buffer.from(header), name])), padded(body)];
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}
