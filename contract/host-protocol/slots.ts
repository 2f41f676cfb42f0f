import * as z from "zod";
import { ProxyApplied } from "../browser/proxy.ts";
import { RecordingMask } from "../browser/recording.ts";
import { BrowserKind } from "../browser/session.ts";
import { LIMITS } from "../limits.ts";
import { WayWish } from "./exits.ts";
import { SlotReport } from "./heartbeat.ts";

/**
 * Wishes that a pool says in its heartbeat whether it keeps: a session with such a wish is placed nowhere else. Proxies and
 * captcha are not among them: without them the session is created all the same, and the answer says that they are not active.
 */
export const SLOT_WISHES = ["allowedDomains", "recording"] as const;
export type SlotWish = (typeof SLOT_WISHES)[number];

/** `code` of a pool's 501: the placement has a wish that this pool does not know, or does not keep. */
export const UNKNOWN_WISH = "UnknownWish";

/** How a session is recorded. `mask` absent: secrets alone are hidden. */
export const SlotRecording = z.strictObject({ mask: RecordingMask.exactOptional() });
export type SlotRecording = z.infer<typeof SlotRecording>;

/**
 * PUT /slots/:sessionId: place a session on this pool. Idempotent by the id. Strict: a pool refuses a wish that it does
 * not know, and never drops one in silence.
 */
export const PlaceSlot = z.strictObject({
  kind: BrowserKind,
  /** Milliseconds since the epoch: the host ends the session then, even if nobody tells it. */
  expiresAt: z.number(),
  /** How long to wait for a slot; 0 = answer 409 at once when none is idle. */
  acquireMs: z.number().nonnegative(),
  /** When the create began, in milliseconds since the epoch: a pool serves those who wait in this order. Absent: now. */
  waitingSince: z.number().exactOptional(),
  /** The client's Playwright minor, when the create named it. */
  wireVersion: z.string().max(20).exactOptional(),
  /** Egress is restricted to these domains and their subdomains. Absent: never restricted. */
  allowedDomains: z.array(z.string()).exactOptional(),
  /** An exit of the managed proxy, or the ladder of them, where there is one. Kind `stealth` only. */
  proxy: WayWish.exactOptional(),
  /** Captchas are to be solved, where the pool can. Kind `stealth` only. */
  captcha: z.literal(true).exactOptional(),
  /** A replay of the session is to be recorded. */
  recording: SlotRecording.exactOptional(),
  /** A storage state to seed the default context with before the answer: a path at the gateway, signed. */
  profile: z.strictObject({ statePath: z.string().regex(/^\/objects\//) }).exactOptional(),
  /** The profile that the state of the browser is stored in when the session ends. */
  saveProfile: z.string().exactOptional(),
});
export type PlaceSlot = z.infer<typeof PlaceSlot>;

/** Header of an upgrade of `/cdp` that the gateway opens for itself: it is no customer's, and keeps no session alive. */
export const OWN_HEADER = "x-svc-own";

/** Header of a 101 of a pool: the number of this socket among the session's `opens`. */
export const OPENS_HEADER = "x-svc-opens";

/** Header of a 200 of POST /slots/:sessionId/state: how many cookies and entries no state can tell. */
export const STATE_LOST_HEADER = "x-svc-lost";

/** 200 of GET /slots/:sessionId: the session as the pool sees it now; 404: it is not there. */
export const SlotSeen = z.object({ bootId: z.string(), slot: SlotReport });
export type SlotSeen = z.infer<typeof SlotSeen>;

/** 200 of GET /cdp/:sessionId without an upgrade: the browser and its targets, as strings of its own. */
export const SlotDiscovery = z.object({
  browser: z.string(),
  protocol: z.string(),
  userAgent: z.string(),
  engine: z.string(),
  revision: z.string(),
  targets: z.array(
    z.object({ id: z.string(), type: z.string(), title: z.string(), url: z.string() }),
  ),
});
export type SlotDiscovery = z.infer<typeof SlotDiscovery>;

/** POST /slots/:sessionId/allowed-domains -> 200: replaces the list; empty is unrestricted. */
export const SlotDomains = z.object({ domains: z.array(z.string()) });
export type SlotDomains = z.infer<typeof SlotDomains>;

/** POST /slots/:sessionId/handoff -> 204: whether a hand-off is open, and the number of this news: what was overtaken says nothing. */
export const SlotHandoff = z.strictObject({ seq: z.int().nonnegative(), isOpen: z.boolean() });
export type SlotHandoff = z.infer<typeof SlotHandoff>;

/** 201 of PUT /slots/:sessionId. */
export const SlotPlaced = z.object({
  acquiredMs: z.number().nonnegative(),
  bootId: z.string(),
  /** The sequence number of the host at the placement: an older heartbeat knows nothing of the session. */
  seq: z.int().nonnegative(),
  /** The exit by which the session leaves. Absent: it leaves from the host. */
  proxy: ProxyApplied.exactOptional(),
  /** Whether a solver is at work, where one is wished. Absent: none is. */
  captcha: z.strictObject({ active: z.boolean() }).exactOptional(),
});
export type SlotPlaced = z.infer<typeof SlotPlaced>;

/** Body of a host's 409, 501, 502 and 503. That of a 428 is `wireMismatchBody`. */
export const SlotRefused = z.object({
  error: z.string(),
  code: z.string().exactOptional(),
  hint: z.string().exactOptional(),
});
export type SlotRefused = z.infer<typeof SlotRefused>;

/** What a placement may take besides its wait for a browser and a host's own answer, in ms: the time of each thing that it wishes. */
export function wishesMs(has: {
  profile: boolean;
  proxy: boolean;
  captcha: boolean;
  recording: boolean;
}): number {
  return (
    (has.captcha ? LIMITS.captchaStartMs : 0) +
    (has.profile ? LIMITS.profileLoadMs : 0) +
    (has.proxy ? LIMITS.exitCheckMs : 0) +
    (has.recording ? LIMITS.recordingStartMs : 0)
  );
}
