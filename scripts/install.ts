import { spawn } from "node:child_process";
import { once } from "node:events";
import { isInstalled } from "./installed.mjs";
import { takeLock } from "../host-kit/lock.ts";

// Two commands started at once on a fresh clone install once: the second waits and finds it done.
const INSTALL_MS = 15 * 60_000;
using lock = takeLock(".svc/install.lock", INSTALL_MS);
if (!lock) throw new Error("another install does not come to its end");
if (!isInstalled(process.cwd())) {
  console.log("installing the packages of package-lock.json");
  const npm = spawn("npm", ["ci", "--no-audit", "--no-fund"], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => npm.kill(signal));
  const [code] = (await once(npm, "exit")) as [number | null];
  process.exitCode = code ?? 1;
}
