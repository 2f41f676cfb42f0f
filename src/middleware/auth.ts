import { sha256 } from "@svc/contract/digest.ts";
import { ApiError, isApiError } from "@svc/contract/errors.ts";
import { parseApiKey } from "@svc/contract/ids.ts";
import type { Auth, Operation } from "@svc/contract/operations/operation.ts";
import { effectivePlan } from "@svc/contract/plans.ts";
import { isSameSecret } from "@svc/contract/tokens.ts";
import { readConsoleToken } from "@svc/contract/tokens/console.ts";
import type { MiddlewareHandler } from "hono";
import { findKey, type KeyHolder } from "../../control-plane/keys.ts";
import type { AppContext, AppEnv, Caller } from "../context.ts";
import { isKnownUnknown, recallKey, rememberKey, rememberUnknown } from "./key-cache.ts";
import { checkFileUrl, checkObjectUrl } from "./signed-url.ts";

const unauthorized = (): ApiError => new ApiError("Unauthorized", "Unauthorized");

/** The token of `Authorization: Bearer …`, or null. */
export function bearerOf(c: AppContext): string | null {
  return /^Bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "")?.[1] ?? null;
}

async function lookUp(env: Env, keyId: string): Promise<KeyHolder | null> {
  const now = Date.now();
  const known = recallKey(keyId, now);
  if (known || isKnownUnknown(keyId, now)) return known;
  try {
    const holder = await findKey(env.DB, keyId);
    if (holder) rememberKey(holder, now);
    else rememberUnknown(keyId, now);
    return holder;
  } catch (error) {
    // Never a false 401: the key may be good.
    if (!isApiError(error)) throw error;
    throw new ApiError("KeyCheckUnavailable", "The key could not be checked. Try again.");
  }
}

/** Who calls, by the API key in the request; null when it has none that is good. */
export async function callerOf(c: AppContext): Promise<Caller | null> {
  const key = parseApiKey(bearerOf(c) ?? "");
  const holder = key && (await lookUp(c.env, key.keyId));
  if (!holder) return null;
  if (!(await isSameSecret(await sha256(key.secret), holder.secretSha256))) return null;
  return callerBy(holder);
}

function callerBy({ orgId, keyId, plan: planName, overrides, isPrepaid }: KeyHolder): Caller {
  return { orgId, keyId, planName, plan: effectivePlan(planName, overrides), isPrepaid };
}

/** The check of a token of the console. The token is good no longer than the key that it was made by. */
const checkConsole: MiddlewareHandler<AppEnv> = async (c, next) => {
  const secret = c.env.SVC_SIGNING_SECRET;
  const claims = await readConsoleToken(secret, bearerOf(c) ?? "", Date.now());
  const holder = claims && (await lookUp(c.env, claims.keyId));
  if (!holder || holder.orgId !== claims.org) throw unauthorized();
  c.set("caller", callerBy(holder));
  await next();
};

/** The check of the API key. */
export const checkKey: MiddlewareHandler<AppEnv> = async (c, next) => {
  const caller = await callerOf(c);
  if (!caller) throw unauthorized();
  c.set("caller", caller);
  await next();
};

const checkOperator: MiddlewareHandler<AppEnv> = async (c, next) => {
  const token = c.env.SVC_ADMIN_TOKEN;
  if (!token) throw new ApiError("NotConfigured", "Set SVC_ADMIN_TOKEN to use the operator API.");
  if (!(await isSameSecret(bearerOf(c) ?? "", token))) throw unauthorized();
  await next();
};

/** The check of a host's secret. */
export const checkHost: MiddlewareHandler<AppEnv> = async (c, next) => {
  if (!(await isSameSecret(bearerOf(c) ?? "", c.env.SVC_HOST_TOKEN))) throw unauthorized();
  await next();
};

const checkNothing: MiddlewareHandler<AppEnv> = async (_c, next) => {
  await next();
};

/** The check of an operation's credential. */
export function checkCredential(op: Operation): MiddlewareHandler<AppEnv> {
  const checks: Record<Auth, () => MiddlewareHandler<AppEnv>> = {
    key: () => checkKey,
    console: () => checkConsole,
    operator: () => checkOperator,
    host: () => checkHost,
    objectUrl: () => checkObjectUrl(op),
    fileUrl: () => checkFileUrl(op),
    none: () => checkNothing,
  };
  return checks[op.auth]();
}
