import type { ConsoleToken } from "@svc/contract/browser/login.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { mintConsoleToken } from "@svc/contract/tokens/console.ts";
import type { Handler } from "../../context.ts";

const SECOND_MS = 1_000;

export const consoleToken: Handler = async (c) => {
  const { orgId: org, keyId } = c.get("caller");
  const expiresAt = Date.now() + LIMITS.consoleTokenMs;
  const token = await mintConsoleToken(c.env.SVC_SIGNING_SECRET, { org, keyId, expiresAt });
  const expiresInSeconds = LIMITS.consoleTokenMs / SECOND_MS;
  return c.json({ token, expiresInSeconds } satisfies ConsoleToken);
};
