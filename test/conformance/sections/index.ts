import type { Service } from "../caller.ts";
import { allowedDomains } from "./allowed-domains.ts";
import { authentication } from "./authentication.ts";
import { createRules } from "./create-rules.ts";
import { idempotency } from "./idempotency.ts";
import { leases } from "./leases.ts";
import { life } from "./life.ts";
import { limits } from "./limits.ts";
import { lists } from "./lists.ts";
import { profiles } from "./profiles.ts";
import { replayUrl } from "./replay-url.ts";
import { sessionCreate, stealthCreate } from "./session-create.ts";
import { sessionRecord } from "./session-record.ts";
import { sockets } from "./sockets.ts";
import { health, proxyCountries } from "./status.ts";

export type Section = (service: Service) => void;

/** Sections of document 1 that wait for time to pass: they run together, beside the others. */
export const WAITING: Record<string, Section> = {
  "states and transitions": life,
  "a stealth create": stealthCreate,
  leases,
};

/** The other sections of document 1, then the additions. */
export const SECTIONS: Record<string, Section> = {
  "session create": sessionCreate,
  "rules of a create": createRules,
  "session record and release": sessionRecord,
  "replay URL": replayUrl,
  "allowed domains": allowedDomains,
  profiles,
  "proxy countries": proxyCountries,
  health,
  "WebSocket upgrades": sockets,
  authentication,
  limits,
  idempotency,
  lists,
};

/** The rules of all errors: they look at every answer of the other sections. */
export { errors } from "./errors.ts";
