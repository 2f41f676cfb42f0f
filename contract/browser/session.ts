import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { anything } from "../open-map.ts";
import { AllowedDomains } from "./domains.ts";
import { StorageStateUrl } from "./profile.ts";
import { RecordingMask } from "./recording.ts";
import { Proxy, ProxyApplied } from "./proxy.ts";
import { Handoff } from "./take-over.ts";

/** The two kinds of browsers. `stealth` of the create alone decides; no kind replaces the other (document 1). */
export const BrowserKind = z.enum(["fast", "stealth"]);
export type BrowserKind = z.infer<typeof BrowserKind>;

/** Status of a session in its record (document 1, Session record). */
export const SessionStatus = z.enum(["active", "released", "expired", "unknown"]);
export type SessionStatus = z.infer<typeof SessionStatus>;

/** Why a session ended (decisions, Additions to the browser gateway). */
export const CloseReason = z.enum([
  "released",
  "client_disconnected",
  "expired",
  "browser_crashed",
  "pool_lost",
  "orphaned",
  "lease_ended",
]);
export type CloseReason = z.infer<typeof CloseReason>;

// Only a literal true opts in; everything else is the default (document 1, Session create request).
const toggle = (description: string) =>
  anything<boolean>()
    .optional()
    .transform((value) => value === true)
    .meta({ type: "boolean", default: false, description });

/** Seconds a leased session lives after its last renewal. */
const idleSeconds = z.int().min(1).max(LIMITS.leaseIdleMaxSeconds);

/**
 * POST /sessions. Every field is optional, unknown fields are ignored, and nothing but `true`
 * switches a toggle on. Source: document 1, Session create request.
 */
export const CreateSession = z.object({
  stealth: toggle("A stealth browser. Required for proxy, captcha and allowedDomains."),
  recording: toggle("Record a replay of the session."),
  /** An addition (decisions). null = secrets alone. */
  mask: RecordingMask.nullish().meta({
    description:
      "What the replay hides beyond passwords, one-time codes and card fields: all that is typed, or also all texts and pictures.",
  }),
  captcha: toggle("Managed captcha solving. Requires stealth."),
  /** Null when absent, empty or no string. */
  profileId: anything<string | null>()
    .optional()
    .transform((value) => (typeof value === "string" && value !== "" ? value : null))
    .meta({ type: "string", description: "A stored profile to start with." }),
  saveProfileOnRelease: toggle(
    "Save the profile when the session ends, however it ends but by a crash. Requires profileId.",
  ),
  proxy: Proxy,
  allowedDomains: AllowedDomains,
  /** An addition (decisions): disconnects do not end the session, a lease not renewed does. null = none. */
  lease: z.object({ idleSeconds }).nullish(),
});
export type CreateSession = z.infer<typeof CreateSession>;

/** 201 of POST /sessions. */
export const SessionCreated = z.object({
  sessionId: z.string(),
  wsEndpoint: z.string(),
  cdpEndpoint: z.string(),
  expiresAt: z.iso.datetime(),
  /** Present when a profile was asked for. */
  storageStateUrl: StorageStateUrl.exactOptional(),
  /** Present when a proxy was applied. */
  proxy: ProxyApplied.exactOptional(),
  /** Present when captcha was asked for: whether a solver is at work (decisions). */
  captcha: z.object({ active: z.boolean() }).exactOptional(),
  /** Normalised; present when asked for. */
  allowedDomains: z.array(z.string()).exactOptional(),
});
export type SessionCreated = z.infer<typeof SessionCreated>;

/** 200 of GET /sessions/:id (document 1, Session record). */
export const SessionRecord = z.object({
  id: z.string(),
  status: SessionStatus,
  /** null while the pool is unknown. */
  kind: BrowserKind.nullable(),
  org: z.string(),
  createdAt: z.iso.datetime().nullable(),
  expiresAt: z.iso.datetime().nullable(),
  wsEndpoint: z.string().exactOptional(),
  cdpEndpoint: z.string().exactOptional(),
  closeReason: CloseReason.exactOptional(),
  /** The exit of the managed proxy by which a live session leaves now. */
  proxy: ProxyApplied.exactOptional(),
  /** The last time that a person was to take it over, while the session is live. */
  handoff: Handoff.exactOptional(),
  /** What the ladder of `proxy: "smart"` has climbed to so far, and why. */
  proxyRungs: z
    .array(z.object({ tier: ProxyApplied.shape.tier, reason: z.string(), at: z.iso.datetime() }))
    .exactOptional(),
});
export type SessionRecord = z.infer<typeof SessionRecord>;

/** POST /sessions/:id/lease: renews the lease. `idleSeconds` changes its length, or gives a lease to a session without. */
export const RenewLease = z.object({ idleSeconds: idleSeconds.exactOptional() });
export type RenewLease = z.infer<typeof RenewLease>;

/** 200 of POST /sessions/:id/lease: when the session ends unless the lease is renewed before. */
export const Lease = z.object({ idleSeconds: z.int(), leaseExpiresAt: z.iso.datetime() });
export type Lease = z.infer<typeof Lease>;

/** 200 of GET /sessions, newest first. `nextCursor` is present when another page exists. */
export const SessionList = z.object({
  sessions: z.array(SessionRecord),
  nextCursor: z.string().exactOptional(),
});
export type SessionList = z.infer<typeof SessionList>;
