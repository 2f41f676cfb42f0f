import {
  type AllowedDomainsSet,
  SetAllowedDomains,
} from "@svc/contract/browser/allowed-domains.ts";
import { accepted } from "../../accepted.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { invalidSessionId, ownedSession } from "./owned.ts";

export const setAllowedDomains: Handler = async (c) => {
  const session = await ownedSession(c);
  const { domains } = await parseBody(c, SetAllowedDomains);
  const answer = await session.ask((object) => object.setAllowedDomains(domains));
  if (answer === null) throw invalidSessionId();
  accepted(answer);
  const body: AllowedDomainsSet = { ok: true, domains };
  return c.json(body);
};
