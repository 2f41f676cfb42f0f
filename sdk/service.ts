import type { HttpClient } from "./http/client.ts";
import type { CallOptions } from "./http/deadline.ts";
import type { Answered } from "@svc/contract/operations/routes.ts";

/** The managed proxy (document 1, GET /proxy/countries). */
export class Proxy {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Countries that can be served, in all and by tier. It is no feed of what is free: look at `proxy` of a session. */
  countries(options: CallOptions = {}): Promise<Answered<"GET /proxy/countries">> {
    return this.#http.call("GET /proxy/countries", options);
  }
}

/** The moments between which usage is read. */
export interface UsageSpan extends CallOptions {
  /** A date, or ISO 8601; the beginning of the month unless said. */
  from?: Date | string | undefined;
  /** Now unless said. */
  to?: Date | string | undefined;
}

/** The usage of the org between two moments, and its cost in cents. */
export function readUsage(
  http: HttpClient,
  { from, to, ...options }: UsageSpan,
): Promise<Answered<"GET /usage">> {
  const query = { from: isoOf(from), to: isoOf(to) };
  return http.call("GET /usage", { ...options, query });
}

const isoOf = (moment: Date | string | undefined): string | undefined =>
  moment instanceof Date ? moment.toISOString() : moment;
