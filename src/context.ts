import type { Plan, PlanName } from "@svc/contract/plans.ts";
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
    /** Set by the key check; only routes behind it may read it. */
    caller: Caller;
  };
}

export type AppContext = Context<AppEnv>;
/** Scheme, host and port under which the caller reached the service. */
export const baseUrlOf = (c: AppContext): string => new URL(c.req.url).origin;

export type Handler = (c: AppContext) => Promise<Response>;
