import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/**
 * The flags of Node with which a pool is to be started (`node <flags> browser-pool/main.ts`). Playwright
 * works for customers inside this process, which may be root: by Node's permission model it writes nothing
 * but what a pool leaves on a machine.
 */
export function permissionFlags(stateDir: string): string[] {
  const state = resolve(stateDir);
  const written = [state, join(state, "*"), join(tmpdir(), "svc-*"), "/sys/fs/cgroup/*"];
  return [
    "--permission",
    "--allow-fs-read=*",
    ...written.map((path) => `--allow-fs-write=${path}`),
    "--allow-child-process",
    // It warns of the flag above. What the pool starts is confined otherwise.
    "--disable-warning=PERM0002",
  ];
}
