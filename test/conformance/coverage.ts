/** `seen` by this run, or why it cannot be and the test that shows it. */
type Where = string;

const PROFILES = "test/gateway/profiles/profiles.test.ts";
const DATABASE = `the database is down: ${PROFILES}`;
const UNBOUND = `no control plane: ${PROFILES}`;
const UPSTREAM = "the pool fails: test/gateway/sockets/upgrade.test.ts";

/** The status tables of document 1: `seen` where a black box can provoke it. */
export const STATUS_TABLES: Record<string, Record<number, Where>> = {
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
    503: "no idle slot or no pool: test/durable-objects/session.test.ts",
  },
  "GET /sessions/:id": { 200: "seen", 401: "seen", 404: "seen" },
  "DELETE /sessions/:id": { 204: "seen", 401: "seen", 404: "seen" },
  "GET /sessions/:id/replay-url": {
    200: "no recorder yet: test/gateway/sessions/replay-url.test.ts",
    401: "seen",
    404: "seen",
    502: DATABASE,
    503: UNBOUND,
  },
  "POST /sessions/:id/allowed-domains": {
    200: "needs a stealth pool: test/gateway/sessions/set-allowed-domains.test.ts",
    400: "seen",
    401: "seen",
    404: "seen",
    503: "the pool is away: test/gateway/sessions/set-allowed-domains.test.ts",
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
    409: `the editor is open: ${PROFILES}`,
    502: DATABASE,
    503: UNBOUND,
  },
  "POST /profiles/:id/save": {
    200: "seen",
    400: "seen",
    401: "seen",
    404: "seen",
    409: `two saves in the same instant: ${PROFILES}`,
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

/** Additive routes: what they answer is held to the rules of all errors, but stands in no table. */
const ADDITIVE = ["GET /sessions", "POST /sessions/:id/lease", "GET /objects/:id"];

const routes = [...Object.keys(STATUS_TABLES), ...ADDITIVE].map((route) => ({
  route,
  pattern: new RegExp(`^${route.replace(/:id/g, "[^/]+")}$`),
}));
const seen = new Map<string, Set<number>>();

/** An error answer of this run. */
export interface NotedError {
  route: string;
  status: number;
  text: string;
}
const errors: NotedError[] = [];

/** Notes a status that a route answered. */
export function noteStatus(method: string, path: string, status: number): string {
  const name = `${method} ${path}`;
  const route = routes.find(({ pattern }) => pattern.test(name))?.route ?? name;
  seen.set(route, (seen.get(route) ?? new Set()).add(status));
  return route;
}

/** Notes an answer of the REST API; the body of an error is kept, to be held to the rules of all errors. */
export function noteAnswer(method: string, path: string, status: number, text: string): void {
  const route = noteStatus(method, path, status);
  if (status >= 400) errors.push({ route, status, text });
}

export const notedErrors = (): readonly NotedError[] => errors;

const wasSeen = (route: string, status: number): boolean => seen.get(route)?.has(status) ?? false;

/** Statuses that a black box can provoke and this run did not. */
export function missingStatuses(): string[] {
  return Object.entries(STATUS_TABLES).flatMap(([route, table]) =>
    Object.entries(table)
      .filter(([status, where]) => where === "seen" && !wasSeen(route, Number(status)))
      .map(([status]) => `${route} ${status}`),
  );
}

// The table of all errors: a malformed Content-Length and a body above the cap, on any route.
const ANYWHERE = [400, 413];
// Decisions: a reused Idempotency-Key, and what this version does not have.
const DECIDED: Record<string, number[]> = { "POST /sessions": [409, 501] };

/** Statuses that were seen and that neither the tables nor a decision know. */
export function strangeStatuses(): string[] {
  return Object.entries(STATUS_TABLES).flatMap(([route, table]) => {
    const known = [...Object.keys(table).map(Number), ...ANYWHERE, ...(DECIDED[route] ?? [])];
    return [...(seen.get(route) ?? [])]
      .filter((status) => !known.includes(status))
      .map((status) => `${route} ${status}`);
  });
}

/** The coverage of the document's status tables, for people. */
export function coverageTable(): string {
  const lines = Object.entries(STATUS_TABLES).flatMap(([route, table]) =>
    Object.entries(table).map(([status, where]) => {
      const how = wasSeen(route, Number(status)) ? "seen" : wordOf(where);
      return `  ${route.padEnd(36)} ${status}  ${how}`;
    }),
  );
  const total = lines.filter((line) => line.endsWith("  seen")).length;
  const head = `Status tables of the document: ${total} of ${lines.length} seen by the black box`;
  return [head, ...lines].join("\n");
}

const wordOf = (where: Where): string =>
  where === "seen" ? "NOT SEEN" : `not reachable, ${where}`;
