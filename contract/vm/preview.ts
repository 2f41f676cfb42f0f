import { sha256 } from "../digest.ts";
import * as z from "zod";

/** 200 of GET /sandboxes/:id/ports/:port. The URL of a public port carries no token. */
export const Preview = z.object({ url: z.url(), token: z.string() });
export type Preview = z.infer<typeof Preview>;

/** Where a preview's token may stand. Over https the cookie's name begins with `__Host-` (document 2, Preview access rules). */
export const PREVIEW_CREDENTIALS = {
  query: "svc_token",
  header: "x-svc-preview-token",
  cookie: "svc_token",
} as const;

/** Former names: refused, naming the new name (decision). */
export const FORMER_PREVIEW_CREDENTIALS = {
  query: "preview_token",
  header: "x-preview-token",
  cookie: "preview_token",
} as const;

/** Characters of a label: with a port of five digits and its dash, a DNS label of at most 63 has room for 57. */
const LABEL_CHARACTERS = 40;

/** The label of a sandbox's previews: a hash of its id, the same wherever it runs. */
export async function previewLabel(sandboxId: string): Promise<string> {
  return (await sha256(sandboxId)).slice(0, LABEL_CHARACTERS);
}

/** A port as it stands in a path: an integer of 1 to 65535, else null. */
export function parsePort(text: string): number | null {
  const port = Number(text);
  return /^[1-9]\d{0,4}$/.test(text) && port <= 65_535 ? port : null;
}

/** Label and port of a preview's host name; null when the name is not below this domain. */
export function parsePreviewHost(
  hostname: string,
  domain: string,
): { label: string; port: number } | null {
  const [, label = "", digits = ""] =
    new RegExp(`^([0-9a-f]{${LABEL_CHARACTERS}})-(\\d+)$`).exec(
      hostname.slice(0, -domain.length - 1),
    ) ?? [];
  const port = parsePort(digits);
  return hostname.endsWith(`.${domain}`) && port ? { label, port } : null;
}
