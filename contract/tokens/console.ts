import * as z from "zod";
import { readClaims, sealClaims } from "../tokens.ts";

/** The claims of a token of the console: the org, and the key that it was made by. */
const ConsoleClaims = z.object({ org: z.string(), keyId: z.string(), expiresAt: z.number() });
export type ConsoleClaims = z.infer<typeof ConsoleClaims>;

/** Signs a token of the console (decisions, SDK, tools, console). */
export function mintConsoleToken(secret: string, claims: ConsoleClaims): Promise<string> {
  return sealClaims(secret, "console", claims);
}

/** The claims of a token of the console that is genuine and not expired, else null. */
export function readConsoleToken(
  secret: string,
  token: string,
  now: number,
): Promise<ConsoleClaims | null> {
  return readClaims(secret, { purpose: "console", schema: ConsoleClaims }, token, now);
}
