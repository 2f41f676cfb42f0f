import { CreateProfile } from "@svc/contract/browser/profile.ts";
import * as profiles from "../../../control-plane/profiles.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";

export const createProfile: Handler = async (c) => {
  const { name } = await parseBody(c, CreateProfile);
  const { orgId, planName, plan } = c.get("caller");
  const org = { orgId, plan: planName, cap: plan.profiles };
  return c.json(await profiles.createProfile(c.env.DB, org, name, Date.now()), 201);
};
