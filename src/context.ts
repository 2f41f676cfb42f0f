import type { Plan, PlanName } from "@svc/contract/plans.ts";
import type { FileClaims, ObjectClaims } from "@svc/contract/tokens.ts";
import type { Context } from "hono";

/** Who calls: the org of a verified key. */
export interface Caller {
  orgId: string;
  keyId: string;
  planName: PlanName;
  plan: Plan;
  /** Whether the org pays in advance. */
  isPrepaid: boolean;
}

export interface AppEnv {
  Bindings: Env;
  Variables: {
    requestId: string;
    /** Set by the check of the route's credential; only routes behind that check may read it. */
    caller: Caller;
    objectUrl: ObjectClaims;
    fileUrl: FileClaims;
  };
}

export type AppContext = Context<AppEnv>;
/** Scheme, host and port under which the caller reached the service. */
export const baseUrlOf = (c: AppContext): string => new URL(c.req.url).origin;

export type Handler = (c: AppContext) => Promise<Response>;
