import { homedir } from "node:os";
import { join } from "node:path";

/** Where images and templates are kept: SVC_CACHE_DIR, else the cache folder of the user. */
export function cacheDirOf(environment: NodeJS.ProcessEnv): string {
  if (environment.SVC_CACHE_DIR) return environment.SVC_CACHE_DIR;
  // Root's own folders are closed to the users that machines run as.
  if (process.getuid?.() === 0) return "/var/cache/svc";
  return join(environment.XDG_CACHE_HOME || join(homedir(), ".cache"), "svc");
}
