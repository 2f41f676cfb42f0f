import type { ProfileVersions } from "@svc/contract/browser/profile.ts";
import { profileVersions } from "../../../control-plane/profile-versions.ts";
import type { Handler } from "../../context.ts";

export const listProfileVersions: Handler = async (c) => {
  const { orgId } = c.get("caller");
  const versions = await profileVersions(c.env.DB, orgId, c.req.param("id") ?? "");
  return c.json({ versions } satisfies ProfileVersions);
};
