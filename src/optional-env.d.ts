// Bindings that need not be set; the required ones are generated from wrangler.toml.
interface __BaseEnv_Env {
  /** Bearer of the operator API; without it every /admin route is 501. */
  SVC_ADMIN_TOKEN?: string;
  /** How long POST /sessions waits for a slot, in ms. */
  SVC_ACQUIRE_TIMEOUT_MS?: string;
  /** How replays are served: `gzip`, as they are stored, or `identity`, unpacked on the way. */
  SVC_REPLAY_ENCODING?: string;
  /** Domain of previews; all names under it are theirs alone. Without it they are 501. */
  SVC_PREVIEW_DOMAIN?: string;
}
