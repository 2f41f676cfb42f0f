import type { Cli } from "../cli.ts";
import { ago, bytesText } from "../terminal/table.ts";

const KINDS = { file: "-", directory: "d", symlink: "l", other: "?" } as const;

/** The files of a folder in a machine. */
export async function listFiles(cli: Cli, id: string, path: string): Promise<void> {
  const box = await (await cli.svc()).sandboxes.connect(id);
  const { entries, ...rest } = await box.files.list(path);
  cli.printRows(
    entries,
    {
      mode: ({ type, mode }) => `${KINDS[type]}${(mode & 0o7777).toString(8).padStart(4, "0")}`,
      size: ({ type, size }) => (type === "file" ? bytesText(size) : undefined),
      changed: ({ mtime }) => ago(mtime),
      name: ({ name, target }) => (target === undefined ? name : `${name} -> ${target}`),
    },
    `${path} is empty.`,
  );
  if ("truncated" in rest && rest.truncated)
    cli.note(`There is more: only the first ${entries.length} are shown.`);
}
