import { readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { RecordId } from "@svc/contract/host-protocol/vm-states.ts";
import * as z from "zod";
import { hashText, replaceFile } from "../disk/files.ts";

/** A record that is gone here and may still lie in the object store. */
export const Leftover = z.object({ org: z.string(), recordId: RecordId });
export type Leftover = z.infer<typeof Leftover>;

/** What shall go from the object store: a small file each, so that it is not forgotten when the host dies first. */
export class Leftovers {
  readonly folder: string;

  /** The folder is there. */
  constructor(folder: string) {
    this.folder = folder;
  }

  /** Notes it, on the disk, before the record itself goes. */
  async add({ org, recordId }: Leftover): Promise<void> {
    await replaceFile(this.#fileOf(recordId), JSON.stringify({ org, recordId }));
  }

  async all(): Promise<Leftover[]> {
    const names = (await readdir(this.folder)).filter((name) => name.endsWith(".json"));
    const texts = names.map((name) => readFile(join(this.folder, name), "utf8").catch(() => ""));
    return (await Promise.all(texts)).flatMap((text) => read(text) ?? []);
  }

  /** It has gone from there, or shall stay after all. */
  async drop(recordId: string): Promise<void> {
    await rm(this.#fileOf(recordId), { force: true });
  }

  #fileOf(recordId: string): string {
    return join(this.folder, `${hashText(recordId)}.json`);
  }
}

function read(text: string): Leftover | null {
  try {
    return Leftover.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
