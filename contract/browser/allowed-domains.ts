import * as z from "zod";
import { Hostnames } from "./domains.ts";

/** POST /sessions/:id/allowed-domains: replaces the whole list; an empty one is unrestricted egress. */
export const SetAllowedDomains = z.object({ domains: Hostnames });

/** 200: the list as it is in force, normalised. */
export const AllowedDomainsSet = z.object({ ok: z.literal(true), domains: z.array(z.string()) });
export type AllowedDomainsSet = z.infer<typeof AllowedDomainsSet>;
