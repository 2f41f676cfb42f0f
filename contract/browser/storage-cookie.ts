import * as z from "zod";
import { isOrigin } from "./origin.ts";

/** The end of the year 9999, in seconds: what a date of HTTP can name. */
const LAST_SECOND = 253_402_300_799;
const PAIR_BYTES = 4096;
const PATH_BYTES = 1024;

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

// Control characters and `;` end a cookie; browsers refuse what begins or ends with a space.
const isClean = (text: string): boolean =>
  text.split("").every((one) => one >= " " && one !== "\x7F" && one !== ";") && !/^ | $/.test(text);
const UNCLEAN = "no control characters, no `;`, no space at either end";

/** Whether a text is a host alone, as a cookie names it: `.example.com` is the host with its subdomains. */
function isHost(text: string): boolean {
  const host = text.replace(/^\./, "");
  if (host.startsWith(".") || /[\s/?#@\\]/.test(host) || /:\d*$/.test(host.replace(/^\[.*\]/, "")))
    return false;
  return URL.canParse(`http://${host}/`);
}

/** The demands of a cookie's name on the cookie: RFC 6265bis, and the prefixes that browsers added. */
function brokenPromise(cookie: StorageCookie): [field: string, message: string] | null {
  const prefix = /^__(host-http|host|http|secure)-/i.exec(cookie.name)?.[1]?.toLowerCase();
  if (prefix === undefined) return null;
  if (!cookie.secure) return ["secure", "must be true for a name that begins so"];
  if (prefix.endsWith("http") && !cookie.httpOnly)
    return ["httpOnly", "must be true for a name that begins so"];
  if (!prefix.startsWith("host")) return null;
  if (cookie.domain.startsWith(".")) return ["domain", "no subdomains for a name that begins so"];
  return cookie.path === "/" ? null : ["path", "must be / for a name that begins so"];
}

/** A cookie of a storage state, as Playwright writes it. Unknown fields are accepted. */
export const StorageCookie = z
  .looseObject({
    name: z
      .string()
      .refine(isClean, { error: UNCLEAN })
      .refine((name) => !name.includes("="), { error: "no `=`" }),
    value: z.string().refine(isClean, { error: UNCLEAN }),
    domain: z.string().refine(isHost, { error: "a host, or a dot and a host" }),
    path: z
      .string()
      .refine((path) => path.startsWith("/") && !path.includes(";"), {
        error: "begins with / and has no `;`",
      })
      .refine((path) => bytesOf(path) <= PATH_BYTES, { error: `at most ${PATH_BYTES} bytes` })
      .default("/"),
    /** Seconds since the epoch; -1 = until the browser ends. */
    expires: z
      .number()
      .refine((at) => at === -1 || (at >= 0 && at <= LAST_SECOND), {
        error: `-1, or seconds since 1970 up to ${LAST_SECOND}`,
      })
      .default(-1),
    httpOnly: z.boolean().default(false),
    secure: z.boolean().default(false),
    sameSite: z.enum(["Strict", "Lax", "None"]).default("Lax"),
    /** The site in whose pages alone the cookie is sent. */
    partitionKey: z.string().refine(isOrigin, { error: "an http or https site" }).exactOptional(),
    _crHasCrossSiteAncestor: z.boolean().exactOptional(),
  })
  .superRefine((cookie, issues) => {
    const add = (field: string, message: string): void =>
      issues.addIssue({ code: "custom", path: [field], message });
    const { name, value, partitionKey, secure } = cookie;
    const broken = brokenPromise(cookie);
    if (broken) add(...broken);
    if (name === "" && value === "") add("name", "must not be empty while the value is");
    if (bytesOf(name + value) > PAIR_BYTES)
      add("value", `at most ${PAIR_BYTES} bytes together with the name`);
    if (partitionKey !== undefined && !secure) add("secure", "must be true with a partitionKey");
  });
export type StorageCookie = z.infer<typeof StorageCookie>;
