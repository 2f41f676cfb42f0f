import { LoginKeys, Secret, SECRET_LENGTH } from "@svc/contract/secrets.ts";
import { count } from "@svc/host-kit/host-settings.ts";
import { LOG_FORMAT } from "@svc/host-kit/log.ts";
import { optionalSetting, setting } from "@svc/host-kit/settings.ts";
import * as z from "zod";

const MADE_ONCE = "made at the first start, kept in the state folder";

const secret = (name: string, purpose: string) =>
  optionalSetting({
    name,
    meaning: `${purpose} ${SECRET_LENGTH}`,
    defaultMeaning: MADE_ONCE,
    schema: Secret,
  });

/** The variables that `npm start` reads itself. Hosts and Worker get all others from its environment. */
export const START_SETTINGS = {
  port: setting({
    name: "SVC_PORT",
    default: "8787",
    meaning: "The port of the gateway on 127.0.0.1. 0: any free port.",
    schema: count.max(65_535),
  }),
  stateDir: setting({
    name: "SVC_STATE_DIR",
    default: ".svc",
    meaning: "The folder of everything that outlives a start.",
    schema: z.string(),
  }),
  stopMs: setting({
    name: "SVC_STOP_MS",
    default: "6000",
    unit: "ms",
    meaning: "How long a host may take to stop. A VM host pauses its machines meanwhile.",
    schema: count,
  }),
  previewDomain: setting({
    name: "SVC_PREVIEW_DOMAIN",
    default: "preview.localhost",
    meaning: "The domain of previews: a preview is at `<label>-<port>` below it.",
    schema: z.string(),
  }),
  allowedHosts: setting({
    name: "SVC_ALLOWED_HOSTS",
    default: "",
    defaultMeaning: "localhost and loopback addresses alone",
    meaning:
      "Names beside localhost under which a service on one machine answers, as `name,name`. Others are refused as Host, and as Origin where a key is shown.",
    schema: z.string(),
  }),
  adminToken: secret("SVC_ADMIN_TOKEN", "The bearer of the operator API, `/admin`."),
  hostToken: secret("SVC_HOST_TOKEN", "The secret that gateway and hosts share."),
  signingSecret: secret("SVC_SIGNING_SECRET", "Signs ids and URLs. A new one ends all of them."),
  loginKey: optionalSetting({
    name: "SVC_LOGIN_KEY",
    meaning:
      "Encrypts saved logins: 32 bytes in base64. `new,old` writes with the first and reads with each. Without it no saved login can be read any more.",
    defaultMeaning: MADE_ONCE,
    schema: LoginKeys,
  }),
  noInstall: optionalSetting({
    name: "SVC_NO_INSTALL",
    defaultMeaning: "missing system packages are installed, where that takes no password",
    meaning: "`1`: never call the package manager.",
    schema: z.string(),
  }),
  logFormat: LOG_FORMAT,
};
