import type { Refusal } from "@svc/contract/errors.ts";
import type { SandboxClaim } from "../org/messages.ts";
import { granted, vmCap } from "../org/reserve.ts";
import type { StoredSandbox } from "./record.ts";

/** The caps of the org's plan when a paused sandbox is resumed. */
export interface Admission extends Pick<SandboxClaim, "cap" | "kept"> {
  plan: string;
}

/** Takes a place of the cap again: it may have filled meanwhile. An org object that fails is no refusal (document 2). */
export function admit(
  env: Env,
  { id, org }: StoredSandbox,
  admission: Admission,
): Promise<Refusal | null> {
  const asking = env.ORGS.getByName(org).resumeSandbox(id, {
    cap: admission.cap,
    kept: admission.kept,
  });
  return granted(asking, vmCap(admission), null);
}
