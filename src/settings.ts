import { LIMITS } from "@svc/contract/limits.ts";
import { SECRET_LENGTH } from "@svc/contract/secrets.ts";

/** The variables of the Worker, for docs/CONFIGURATION.md and for the type of `Env`; `env.ts` reads them. `default` null: must be set. */
export const WORKER_SETTINGS = [
  {
    name: "SVC_HOST_TOKEN",
    default: null,
    unit: null,
    meaning: `The secret that gateway and hosts share. ${SECRET_LENGTH}`,
  },
  {
    name: "SVC_SIGNING_SECRET",
    default: null,
    unit: null,
    meaning: `Signs the ids of sessions and sandboxes and every signed URL. ${SECRET_LENGTH}`,
  },
  {
    name: "SVC_ADMIN_TOKEN",
    default: "unset: the operator API answers 501",
    unit: null,
    meaning: `The bearer of the operator API, \`/admin\`. ${SECRET_LENGTH}`,
  },
  {
    name: "SVC_LOGIN_KEY",
    default: "unset: logins cannot be saved, and answer 501",
    unit: null,
    meaning:
      "Encrypts saved logins: 32 bytes in base64. `new,old` writes with the first and reads with each. Without it no saved login can be read any more.",
  },
  {
    name: "SVC_ACQUIRE_TIMEOUT_MS",
    default: String(LIMITS.acquireTimeoutMs),
    unit: "ms",
    meaning: "How long a create waits for a browser or a machine.",
  },
  {
    name: "SVC_REPLAY_ENCODING",
    default: "gzip",
    unit: null,
    meaning:
      "How replays are served: `gzip`, as they are stored, or `identity`, unpacked on the way.",
  },
  {
    name: "SVC_ALLOWED_HOSTS",
    default: "unset: neither Host nor Origin is checked",
    unit: null,
    meaning:
      "Names beside localhost under which a service on one machine answers, as `name,name`. Others are refused as Host, and as Origin where a key is shown. Set, even empty, by `npm start`.",
  },
  {
    name: "SVC_PREVIEW_DOMAIN",
    default: "unset: previews answer 501",
    unit: null,
    meaning: "The domain of previews. All names under it belong to previews alone.",
  },
] as const;
