import { spawn } from "node:child_process";
import { once } from "node:events";
import { AGENT, writeAgent } from "./bundle-agent.ts";
import { ensureMachinePackages } from "./system-packages.ts";

// A VM host by itself, for a machine whose gateway is elsewhere (docs/DEPLOY.md).
ensureMachinePackages();
await writeAgent(AGENT);
const host = spawn(process.execPath, ["vm-host/main.ts"], {
  stdio: ["ignore", "inherit", "inherit", "ipc"],
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => host.kill("SIGTERM"));
process.on("disconnect", () => host.kill("SIGTERM"));
const [code] = await once(host, "exit");
process.exit(Number(code ?? 1));
