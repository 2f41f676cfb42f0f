import type { OperationName } from "@svc/contract/operations/index.ts";
import type { MiddlewareHandler } from "hono";
import type { AppContext, AppEnv } from "../context.ts";
import { readDesktop } from "../routes/desktops/read-create.ts";
import { readCreate } from "../routes/sandboxes/read-create.ts";
import { judgeSession } from "../routes/sessions/read-create.ts";
import { readSave } from "../routes/sessions/save-profile.ts";
import { readSnapshotWish } from "../routes/snapshots/create.ts";
import { readTemplate } from "../routes/templates/read-create.ts";

/** Operations whose body is judged before their Idempotency-Key (document 2: 400 comes first). */
const CHECKS: Partial<Record<OperationName, (c: AppContext) => Promise<unknown>>> = {
  createSession: judgeSession,
  createSandbox: readCreate,
  createSnapshot: readSnapshotWish,
  createDesktop: readDesktop,
  createTemplate: readTemplate,
  saveSessionProfile: readSave,
};

/** Throws the 400 of a body, for operations whose body is judged before their Idempotency-Key. */
export function checkFirst(name: OperationName): MiddlewareHandler<AppEnv> {
  const check = CHECKS[name];
  return async (c, next) => {
    await check?.(c);
    await next();
  };
}
