import type { Answer, Elsewhere, Tables } from "./coverage.ts";

const shown = (why: string, path: string, test: string): Elsewhere => ({
  why,
  file: `test/${path}.test.ts`,
  test,
});

const WHILE_D1 =
  "while D1 %s every profile route is %i for a key in use, and so is a create with a profile";
const DATABASE = shown("the database is down", "gateway/profiles/list", WHILE_D1);
const UNBOUND = shown("no control plane", "gateway/profiles/list", WHILE_D1);
const UPSTREAM = shown(
  "the pool fails",
  "gateway/sockets/upgrade",
  "a pool that never answers is 502",
);

/** The status tables of document 1. */
export const BROWSER_TABLES: Tables = {
  "POST /sessions": {
    201: "seen",
    400: "seen",
    401: "seen",
    402: "seen",
    404: "seen",
    413: "seen",
    428: "seen",
    429: "seen",
    502: DATABASE,
    503: shown(
      "no idle slot or no pool",
      "durable-objects/session/session",
      "without any pool is 503 after the acquire timeout, retryable, with a hint",
    ),
  },
  "GET /sessions/:id": { 200: "seen", 401: "seen", 404: "seen" },
  "DELETE /sessions/:id": { 204: "seen", 401: "seen", 404: "seen" },
  "GET /sessions/:id/replay-url": {
    200: shown(
      "no recorder yet",
      "gateway/sessions/replay-url",
      "a replay that is stored has a signed URL of its gzip bytes, fetched without a key",
    ),
    401: "seen",
    404: "seen",
    502: DATABASE,
    503: UNBOUND,
  },
  "POST /sessions/:id/allowed-domains": {
    200: shown(
      "needs a stealth pool",
      "gateway/sessions/set-allowed-domains",
      "hands %j over as %j before it answers",
    ),
    400: "seen",
    401: "seen",
    404: "seen",
    503: shown(
      "the pool is away",
      "gateway/sessions/set-allowed-domains",
      "a pool that is away is 503 PoolUnreachable and retryable",
    ),
  },
  "GET /profiles": { 200: "seen", 401: "seen", 502: DATABASE, 503: UNBOUND },
  "POST /profiles": {
    201: "seen",
    400: "seen",
    401: "seen",
    403: "seen",
    413: "seen",
    502: DATABASE,
    503: UNBOUND,
  },
  "DELETE /profiles/:id": {
    204: "seen",
    401: "seen",
    404: "seen",
    409: shown(
      "the editor is open",
      "gateway/profiles/save",
      "the editor's lease makes save and delete 409, until it is given back or lapses",
    ),
    502: DATABASE,
    503: UNBOUND,
  },
  "POST /profiles/:id/save": {
    200: "seen",
    400: "seen",
    401: "seen",
    404: "seen",
    409: shown(
      "two saves in the same instant",
      "gateway/profiles/save",
      "of two saves at once one is a version conflict",
    ),
    413: "seen",
    502: DATABASE,
    503: UNBOUND,
  },
  "GET /proxy/countries": { 200: "seen", 401: "seen" },
  "GET /health": { 200: "seen" },
  "GET /healthz": { 401: "seen" },
  "GET /ws/:id": { 101: "seen", 401: "seen", 404: "seen", 428: "seen", 502: UPSTREAM },
  "GET /cdp/:id": { 101: "seen", 401: "seen", 404: "seen", 502: UPSTREAM },
};

/** The table of all errors: a malformed Content-Length and a body above the cap, on any route. */
const ANYWHERE = [400, 413];
/** Decisions: a reused Idempotency-Key, and what this version does not have. */
const DECIDED: Record<string, number[]> = { "POST /sessions": [409, 501] };

export const browserDecided = ({ route, status }: Answer): boolean =>
  ANYWHERE.includes(status) || (DECIDED[route]?.includes(status) ?? false);
