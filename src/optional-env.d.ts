import type { WORKER_SETTINGS } from "./settings.ts";

type Name = (typeof WORKER_SETTINGS)[number]["name"];

declare global {
  // Which of the variables must be set is generated from wrangler.toml.
  interface __BaseEnv_Env extends Partial<Record<Name, string>> {}
}
