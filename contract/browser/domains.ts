import * as z from "zod";

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** The last label of an address, in any notation that browsers read as one (WHATWG URL, "ends in a number"). */
const NUMBER = /^(\d+|0x[0-9a-f]*)$/;

/**
 * A bare hostname as it is compared: lower case, no trailing dot, IDN as punycode. Null for anything
 * with a scheme, a port, a wildcard or a path, and for an address.
 */
export function normaliseHostname(text: string): string | null {
  const bare = text.toLowerCase().replace(/\.$/, "");
  const ascii = /^[a-z0-9.-]+$/.test(bare) ? bare : punycode(bare);
  if (ascii === null || ascii.length > 253) return null;
  const labels = ascii.split(".");
  if (NUMBER.test(labels.at(-1) ?? "")) return null;
  return labels.every((label) => LABEL.test(label)) ? ascii : null;
}

function punycode(text: string): string | null {
  // Only letters beyond ASCII may be left to the URL parser: it would strip or read much else.
  if (!/^[\p{L}\p{M}\p{N}.-]+$/u.test(text)) return null;
  try {
    return new URL(`http://${text}`).hostname;
  } catch {
    return null;
  }
}

const Hostname = z.string({ error: "a hostname" }).transform((text, issues) => {
  const hostname = normaliseHostname(text);
  if (hostname !== null) return hostname;
  issues.addIssue({
    code: "custom",
    message: "a bare hostname: no scheme, port, wildcard or address",
  });
  return z.NEVER;
});

/** Hostnames, normalised and without repeats, in the order given. */
export const Hostnames = z
  .array(Hostname, { error: "an array of hostnames" })
  .max(1000)
  .transform((names) => [...new Set(names)]);

/** `allowedDomains` of POST /sessions: null and absent mean unrestricted, an empty list is refused. */
export const AllowedDomains = Hostnames.refine((names) => names.length > 0, {
  error: "must not be empty; omit it for unrestricted egress",
}).nullish();
