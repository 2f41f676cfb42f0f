import type { SessionCreated } from "@svc/contract/browser/session.ts";
import type { Customer, SessionAsk } from "../service/customer.ts";

/** A provider that nobody needs as long as no page is blocked: the ladder of a smart session watches all the same. */
export const NO_PROVIDER = "http://soak-{country}-{session}:pw@127.0.0.1:9";

/** The request of a session with network rules. */
export const RULES: SessionAsk = {
  stealth: true,
  allowedDomains: ["localhost", "kept.example"],
  proxy: "smart",
};

/** The site by a name: allowed domains name no addresses. */
export function byName(siteUrl: string): string {
  const url = new URL(siteUrl);
  url.hostname = "localhost";
  return url.href;
}

/** Replaces the allowed domains of a session; the site stays among them. */
export function replaceRules(customer: Customer, { sessionId }: SessionCreated): Promise<void> {
  return customer.confine(sessionId, ["localhost", "replaced.example"]);
}
