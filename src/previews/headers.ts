import {
  FORWARD_PREFIX,
  FORWARDED_HEADERS,
  OWN_HEADERS,
} from "@svc/contract/host-protocol/ports.ts";
import { answerHeader } from "./answer-header.ts";
import { cookiesWithoutToken, refererWithoutToken } from "./credentials.ts";

/** Of one connection only, made anew by the runtime, or said by the gateway itself. */
const NOT_PASSED = new Set([
  "connection",
  "content-length",
  "expect",
  "forwarded",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "sec-websocket-key",
  "sec-websocket-version",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-real-ip",
  ...FORWARDED_HEADERS,
]);
const NOT_PASSED_PREFIXES = [OWN_HEADERS, "cf-", "x-forwarded-"];
/** An API key shown here by mistake is none of the guest's business. */
const OWN_BEARER = /^bearer\s+svc_live_/i;

/** What the server inside learns of a request's headers: nothing of ours, nothing that a client can forge. */
export function headersForGuest(request: Request): Headers {
  const { headers } = request;
  const named = (headers.get("connection") ?? "").toLowerCase().split(/\s*,\s*/);
  const passed = new Headers();
  for (const [name, value] of headers) {
    const isOurs = NOT_PASSED_PREFIXES.some((prefix) => name.startsWith(prefix));
    if (isOurs || NOT_PASSED.has(name) || named.includes(name)) continue;
    const kept = keptOf(name, value);
    if (kept !== null) passed.append(name, kept);
  }
  const told = { ...forwarded(request), ...addressesOf(request) };
  for (const [name, value] of Object.entries(told)) passed.set(name, value);
  return passed;
}

function keptOf(name: string, value: string): string | null {
  if (name === "cookie") return cookiesWithoutToken(value);
  return name === "referer" ? refererWithoutToken(value) : value;
}

/** Headers that cannot travel under their own names. */
function forwarded(request: Request): Record<string, string> {
  const pairs = FORWARDED_HEADERS.map((name) => [
    `${FORWARD_PREFIX}${name}`,
    valueOf(name, request),
  ]);
  return Object.fromEntries(pairs.filter(([, value]) => value));
}

function valueOf(name: (typeof FORWARDED_HEADERS)[number], { headers, url, cf }: Request): string {
  const value = headers.get(name) ?? "";
  if (name === "host") return new URL(url).host;
  if (name === "authorization") return OWN_BEARER.test(value) ? "" : value;
  // The runtime always says `br, gzip`; what the client itself takes stands here.
  const client = name === "accept-encoding" ? cf?.["clientAcceptEncoding"] : undefined;
  return typeof client === "string" ? client : value;
}

function addressesOf({ headers, url }: Request): Record<string, string> {
  const { host, protocol } = new URL(url);
  const client = headers.get("cf-connecting-ip");
  return {
    "x-forwarded-host": host,
    "x-forwarded-proto": protocol.slice(0, -1),
    ...(client && { "x-forwarded-for": client }),
  };
}

/** The headers of a guest's answer as the client gets them. `path`: of the request. */
export function headersForClient(
  answer: Headers,
  path: string,
  ownCookie: string | null = null,
): Headers {
  const headers = new Headers();
  for (const [name, value] of answer) {
    const kept = name === "set-cookie" ? null : answerHeader(name, value, path);
    if (kept !== null) headers.append(name, kept);
  }
  for (const cookie of answer.getSetCookie()) headers.append("set-cookie", hostOnly(cookie));
  if (ownCookie !== null) headers.append("set-cookie", ownCookie);
  return headers;
}

/** A cookie without its domain: under the common domain of all previews it would reach those of other customers. */
function hostOnly(cookie: string): string {
  return cookie.replaceAll(/;\s*domain\s*=[^;]*/gi, "");
}
