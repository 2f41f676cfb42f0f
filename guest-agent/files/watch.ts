import type { FileEvent } from "@svc/contract/control-channel/file-methods.ts";
import type { RequestContext } from "@svc/contract/control-channel/rpc-server.ts";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { isDraftName, isReplacing } from "./draft.ts";
import { onPath } from "./errors.ts";
import { EventLine } from "./event-line.ts";
import { RAW, bytesOf, textOf } from "./names.ts";
import { type TreeListener, WatchedTree } from "./tree.ts";

interface Watch {
  path: string;
  recursive: boolean;
}

/** Tells what happens below a path until the request is cancelled. */
export async function watchFiles({ path, recursive }: Watch, context: RequestContext) {
  const { real, isFolder } = await onPath(path, () => lookAt(path));
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  const { signal, notify, id } = context;
  // Of a file the folder around it is watched: the file may be replaced, or come again later.
  const root = isFolder ? { path, real } : { path: dirname(real), real: dirname(real) };
  const seen: Seen = (where) => {
    if (isDraftName(where)) return null;
    return isFolder ? where : basename(where) === basename(real) ? path : null;
  };
  const teller = tellerOf(path, seen, (event) => notify("files.event", { id, ...event }));
  const tree = new WatchedTree(
    root.path,
    root.real,
    { ...teller, failed: reject },
    { recursive: recursive && isFolder },
  );
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  if (signal.aborted) reject(signal.reason);
  try {
    return await onPath(path, () => promise);
  } finally {
    tree.close();
  }
}

async function lookAt(path: string): Promise<{ real: string; isFolder: boolean }> {
  const [real, stats] = await Promise.all([realpath(bytesOf(path), RAW), stat(bytesOf(path))]);
  return { real: textOf(real), isFolder: stats.isDirectory() };
}

/** A path as it is told; null: it is not what was asked for, or a draft of the agent. */
type Seen = (path: string) => string | null;
type Told = Omit<FileEvent, "id">;

/** Tells what a tree hears, in its order. */
function tellerOf(
  root: string,
  seen: Seen,
  tell: (event: Told) => void,
): Omit<TreeListener, "failed"> {
  const overflow = (): void => tell({ type: "overflow", path: root });
  const line = new EventLine(overflow);
  return {
    told: (type, where) => {
      const path = seen(where);
      if (path !== null) line.add(async () => tell({ type, path }));
    },
    moved: (from, to) =>
      line.add(async () => {
        const event = moveOf(from, await to, seen);
        if (event) tell(event);
      }),
    overflow: () => line.add(async () => overflow()),
  };
}

function moveOf(left: string, arrived: string | null, seen: Seen): Told | null {
  const from = seen(left);
  const path = arrived === null ? null : seen(arrived);
  if (path === null) return from === null ? null : { type: "remove", path: from };
  if (from !== null) return { type: "rename", path, from };
  return { type: isReplacing(left) ? "write" : "create", path };
}
