import { ApiError } from "@svc/contract/errors.ts";
import { logOf } from "@svc/contract/log.ts";
import { Secret, SECRET_FAULT } from "@svc/contract/secrets.ts";
import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../context.ts";

const log = logOf("src");

/** Throws `NotConfigured` when a secret of the Worker is missing or short: what it signs could be forged. */
export function checkSecrets(env: Env): void {
  const { SVC_HOST_TOKEN, SVC_SIGNING_SECRET, SVC_ADMIN_TOKEN } = env;
  // Without SVC_ADMIN_TOKEN the operator API alone is off.
  const secrets = {
    SVC_HOST_TOKEN,
    SVC_SIGNING_SECRET,
    ...(SVC_ADMIN_TOKEN && { SVC_ADMIN_TOKEN }),
  };
  const short = Object.entries(secrets).find(([, value]) => !Secret.safeParse(value).success);
  if (!short) return;
  const reason = `${short[0]} ${SECRET_FAULT}`;
  log.error("not_configured", { reason });
  throw new ApiError("NotConfigured", reason);
}

/** The same for every route but the one that says that the Worker is alive. */
export const secretsChecked: MiddlewareHandler<AppEnv> = async (c, next) => {
  if (c.req.path !== "/health") checkSecrets(c.env);
  await next();
};
