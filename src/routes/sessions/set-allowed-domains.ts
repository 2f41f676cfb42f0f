import {
  type AllowedDomainsSet,
  SetAllowedDomains,
} from "@svc/contract/browser/allowed-domains.ts";
import { errorResponse, isRefusal } from "@svc/contract/errors.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { invalidSessionId, ownedSession } from "./owned.ts";

export const setAllowedDomains: Handler = async (c) => {
  const session = await ownedSession(c);
  const { domains } = await parseBody(c, SetAllowedDomains);
  const answer = await session.ask((object) => object.setAllowedDomains(domains));
  if (answer === null) throw invalidSessionId();
  if (isRefusal(answer)) return errorResponse(answer.refused);
  const body: AllowedDomainsSet = { ok: true, domains };
  return c.json(body);
};
