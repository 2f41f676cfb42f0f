import { spawn } from "node:child_process";
import { once } from "node:events";
import { permissionFlags } from "../browser-pool/permissions.ts";
import ensureSystemPackages from "./system-packages.ts";

// A browser pool by itself, for a machine whose gateway is elsewhere (docs/DEPLOY.md).
ensureSystemPackages();
const flags = permissionFlags(process.env.SVC_STATE_DIR || ".svc");
const pool = spawn(process.execPath, [...flags, "browser-pool/main.ts"], {
  stdio: ["ignore", "inherit", "inherit", "ipc"],
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => pool.kill("SIGTERM"));
}
process.on("disconnect", () => pool.kill("SIGTERM"));
const [code] = await once(pool, "exit");
process.exit(Number(code ?? 1));
