import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { RUN_PREFIX, stateOf } from "./janitor.ts";

/**
 * The flags of Node for a pool (`node <flags> browser-pool/main.ts`). A pool may be root, and strangers talk to it: by
 * Node's permission model it writes only the folders and cgroups of its runs. Of the state folder, where a gateway may keep
 * secrets, it may write one sub folder. `scratch` is its TMPDIR.
 */
export function permissionFlags(stateDir: string, scratch = tmpdir()): string[] {
  const own = stateOf(resolve(stateDir));
  const written = [own, join(own, "*"), join(scratch, `${RUN_PREFIX}*`), "/sys/fs/cgroup/*"];
  return [
    "--permission",
    "--allow-fs-read=*",
    ...written.map((path) => `--allow-fs-write=${path}`),
    "--allow-child-process",
    // It warns of the flag above. What the pool starts is confined otherwise.
    "--disable-warning=PERM0002",
    // A proxy over TLS may be one whose certificate this system alone vouches for.
    "--use-system-ca",
  ];
}
