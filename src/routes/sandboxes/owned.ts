import { ApiError } from "@svc/contract/errors.ts";
import { readVmId } from "@svc/contract/tokens.ts";
import type { SandboxDO } from "../../../durable-objects/sandbox.ts";
import type { AppContext } from "../../context.ts";
import { reach } from "../../objects.ts";

/** Forged, malformed, unknown, another org's: one answer, to the byte (document 2, Authentication 5). */
export const noSandbox = (): ApiError => new ApiError("NotFound", "There is no such sandbox.");

export interface OwnedSandbox {
  id: string;
  org: string;
  /** Asks the sandbox's object. */
  ask<P>(call: (object: DurableObjectStub<SandboxDO>) => P): Promise<Awaited<P>>;
}

/** The sandbox of a path's `:id` when it is the caller's own, else throws what `missing` makes. The age of the id does not matter. */
export async function ownedSandbox(
  c: AppContext,
  missing: () => ApiError = noSandbox,
): Promise<OwnedSandbox> {
  const id = c.req.param("id") ?? "";
  const claims = await readVmId(c.env.SVC_SIGNING_SECRET, id);
  const { orgId: org } = c.get("caller");
  if (claims?.org !== org) throw missing();
  const object = c.env.SANDBOXES.getByName(id);
  return { id, org, ask: (call) => reach(() => call(object)) };
}
