import type { ProfileWrite } from "../../../control-plane/profile-versions.ts";
import type { Stores } from "../../../control-plane/profiles.ts";
import type { AppContext } from "../../context.ts";

export const storesOf = (c: AppContext): Stores => ({ db: c.env.DB, objects: c.env.OBJECTS });

/** A profile of the caller's that is to get its next version. */
export function writeOf(c: AppContext, id: string, lease: string | null): ProfileWrite {
  const { orgId, plan } = c.get("caller");
  return { orgId, id, lease, keeps: plan.profileVersions };
}
