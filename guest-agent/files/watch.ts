import type { FileEvent } from "@svc/contract/control-channel/file-methods.ts";
import type { RequestContext } from "@svc/contract/control-channel/rpc-server.ts";
import { watch } from "node:fs";
import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";
import { onPath } from "./errors.ts";

interface Watch {
  path: string;
  recursive: boolean;
}

/** Tells what happens below a path until the request is cancelled. */
export async function watchFiles({ path, recursive }: Watch, context: RequestContext) {
  const isFolder = (await onPath(path, () => stat(path))).isDirectory();
  const { promise, reject } = Promise.withResolvers<never>();
  const { signal, notify, id } = context;
  let order = Promise.resolve();
  const tell = async (event: string, name: string | null): Promise<void> => {
    if (name === null) notify("files.event", { id, type: "overflow", path } satisfies FileEvent);
    else await tellOne(event, isFolder ? join(path, name) : path);
  };
  const tellOne = async (event: string, where: string): Promise<void> => {
    const type = await typeOf(event, where);
    notify("files.event", { id, type, path: where } satisfies FileEvent);
  };
  const watcher = watch(path, { recursive }, (event, name) => {
    // One after another, so that events keep their order.
    order = order.then(() => tell(event, name));
  });
  watcher.on("error", reject);
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  try {
    return await promise;
  } finally {
    watcher.close();
  }
}

// Node tells a change of content or of a name; whether the name is there now tells which.
async function typeOf(event: string, path: string): Promise<FileEvent["type"]> {
  if (event === "change") return "write";
  return lstat(path).then(
    () => "create",
    () => "remove",
  );
}
