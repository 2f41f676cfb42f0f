import { copyFile, mkdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Refusal } from "../errors.ts";
import { replaceFile } from "../settings/replace-file.ts";
import { type Client, SERVER, type Value } from "./clients.ts";
import { mergeJson } from "./merge-json.ts";
import { mergeToml } from "./merge-toml.ts";

/** The result of a merge into a file. */
export interface Merged {
  isChanged: boolean;
  /** The copy of the file as it was before. */
  backup?: string;
}

/** Puts the entry of the server into a client's file. The rest of the file stays as it is, comments included. */
export async function mergeFile(
  path: string,
  client: Client,
  entry: { [key: string]: Value },
): Promise<Merged> {
  // A link to a file is kept, and the file behind it written.
  const file = await realpath(path).catch(() => path);
  const before = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw new Refusal(`${file} cannot be read (${error.code}).`);
  });
  const merge = client.format === "toml" ? mergeToml : mergeJson;
  const after = merge(before ?? "", {
    under: client.under,
    name: SERVER,
    entry,
    beside: client.beside,
  });
  if (after === null)
    throw new Refusal(
      `${file} cannot be changed safely: its syntax is broken, or unusual. Put this into it by hand: \`svc mcp config ${client.id}\` prints it.`,
    );
  if (after === before) return { isChanged: false };
  await mkdir(dirname(file), { recursive: true });
  if (before === null) {
    await replaceFile(file, after, client.isShared ? 0o644 : 0o600);
    return { isChanged: true };
  }
  const backup = `${file}.before-svc`;
  await copyFile(file, backup);
  // The file may get a key: nobody else reads it from now on.
  const mode = (await stat(file)).mode & (client.isShared ? 0o777 : 0o700);
  await replaceFile(file, after, mode);
  return { isChanged: true, backup };
}
