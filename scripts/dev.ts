import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { unstable_startWorker } from "wrangler";
import { chosenPort } from "./start/port.ts";
import { START_SETTINGS } from "./start/settings.ts";
import { StateDir } from "./start/state.ts";

// `wrangler dev` as a call: by its command line a secret that wrangler.toml does not require would have to stand in an
// argument, where everyone on the machine reads it. State, secrets and port are those of `npm start`.
const state = StateDir.open();
const persist = join(state.path, "state");
const migrate = ["d1", "migrations", "apply", "DB", "--local", "--persist-to", persist];
const { status } = spawnSync("wrangler", migrate, { stdio: ["ignore", "inherit", "inherit"] });
if (status !== 0) process.exit(status ?? 1);

const secrets = Object.entries(state.secrets).map(
  ([name, value]) => [name, { type: "secret_text" as const, value }] as const,
);
const allowed = START_SETTINGS.allowedHosts.read(process.env.SVC_ALLOWED_HOSTS);
const worker = await unstable_startWorker({
  config: "wrangler.toml",
  bindings: {
    ...Object.fromEntries(secrets),
    SVC_ALLOWED_HOSTS: { type: "plain_text", value: allowed },
  },
  dev: {
    server: { hostname: "127.0.0.1", port: await chosenPort() },
    persist,
    logLevel: "info",
    watch: true,
  },
});
await worker.ready;
for (const event of ["SIGINT", "SIGTERM", "SIGHUP", "disconnect"])
  process.on(event, () => void worker.dispose().then(() => process.exit(0)));
