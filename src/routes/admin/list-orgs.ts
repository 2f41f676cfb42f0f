import * as orgs from "../../../control-plane/orgs.ts";
import type { Handler } from "../../context.ts";

export const listOrgs: Handler = async (c) => c.json({ orgs: await orgs.listOrgs(c.env.DB) });
