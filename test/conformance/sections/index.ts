import type { Service } from "../caller.ts";
import { allowedDomains } from "./allowed-domains.ts";
import { authentication } from "./authentication.ts";
import { createRules } from "./create-rules.ts";
import { errors } from "./errors.ts";
import { idempotency } from "./idempotency.ts";
import { leases } from "./leases.ts";
import { life } from "./life.ts";
import { limits } from "./limits.ts";
import { lists } from "./lists.ts";
import { profiles } from "./profiles.ts";
import { replayUrl } from "./replay-url.ts";
import { sessionCreate } from "./session-create.ts";
import { sessionRecord } from "./session-record.ts";
import { sockets } from "./sockets.ts";
import { health, proxyCountries } from "./status.ts";

/** The sections of document 1, then the additions. The rules of all errors come last: they look at every answer. */
export const SECTIONS: Record<string, (service: Service) => void> = {
  "session create": sessionCreate,
  "rules of a create": createRules,
  "session record and release": sessionRecord,
  "states and transitions": life,
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
  leases,
  errors,
};
