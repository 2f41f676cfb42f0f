import { LIMITS } from "@svc/contract/limits.ts";
import { SetTimeout, type TimeoutSet } from "@svc/contract/vm/sandbox.ts";
import { parseOptionalBody } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { defaultIdleMs } from "./create.ts";
import { noSandbox, ownedSandbox } from "./owned.ts";

/** A value that is no idle window means the default (document 2). */
export const setSandboxTimeout: Handler = async (c) => {
  const sandbox = await ownedSandbox(c);
  const { timeoutMs } = await parseOptionalBody(c, SetTimeout);
  const isWindow = Number.isInteger(timeoutMs) && Number(timeoutMs) >= LIMITS.idleLeastMs;
  const { vmIdleMaxMs } = c.get("caller").plan;
  const kind = await sandbox.ask((object) => object.kind());
  if (!kind) throw noSandbox();
  const wantedMs = isWindow ? Number(timeoutMs) : defaultIdleMs(kind);
  const answer = await sandbox.ask((object) => object.setIdle(Math.min(wantedMs, vmIdleMaxMs)));
  if (!answer) throw noSandbox();
  const body: TimeoutSet = { expiresAt: new Date(answer.expiresAt).toISOString() };
  return c.json(body);
};
