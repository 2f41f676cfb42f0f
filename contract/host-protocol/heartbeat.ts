import * as z from "zod";
import { BrowserKind } from "../browser/session.ts";
import { ExitOffer, LADDER, Rung } from "./exits.ts";
import { VmHeartbeat } from "./vms.ts";

const count = z.int().nonnegative();
const text = z.string().max(500);

/** Why a host ended a session by itself. */
export const HostEndReason = z.enum(["browser_crashed", "expired", "orphaned"]);
export type HostEndReason = z.infer<typeof HostEndReason>;

/** A session on a pool, as the pool sees it. */
export const SlotReport = z.object({
  id: z.string(),
  kind: BrowserKind,
  /** Customer sockets that were opened since the placement, /ws and /cdp together. Only grows, so that no merge of reports hides a socket. */
  opens: count,
  /** How many of them have ended. */
  closes: count,
  /** How the last one ended, while none is open. */
  lastClose: z.enum(["clean", "dropped"]).exactOptional(),
  /** Set once the host ended it; repeated until the gateway has answered. */
  ended: HostEndReason.exactOptional(),
  /** Milliseconds since the epoch. */
  lastActivityAt: z.number(),
  /** The rungs of the proxy ladder that it has climbed to so far, the first one first. */
  rungs: z.array(Rung).max(LADDER.length).exactOptional(),
});
export type SlotReport = z.infer<typeof SlotReport>;

/** Slots of one kind on one pool. A kind the pool cannot serve is absent or carries a hint with nothing in it. */
export const KindReport = z.object({
  idle: count,
  busy: count,
  recycling: count,
  hint: text.exactOptional(),
});
export type KindReport = z.infer<typeof KindReport>;

const Beat = {
  /** New at every start of the host: what was placed under another one is lost. */
  bootId: z.string().min(8).max(64),
  /** Grows by one with every heartbeat and every placement. */
  seq: count,
  /** Where the gateway reaches this host. */
  url: z.url({ protocol: /^https?$/ }),
};

/** The heartbeat of a browser pool: at its start, every 5 s, and at once on any change. */
export const PoolHeartbeat = z.object({
  type: z.literal("pool"),
  ...Beat,
  versions: z.object({ chromium: text, wire: z.array(text).max(20) }),
  /** Own uid per slot, namespaces under one uid, or nothing. */
  isolation: z.enum(["uid", "shared-uid", "none"]),
  memoryCap: z.boolean(),
  /** Private addresses that browsers may reach, as `host:port`: SVC_EGRESS_ALLOW. */
  egressAllow: z.array(text).max(100),
  kinds: z.object({ fast: KindReport.exactOptional(), stealth: KindReport.exactOptional() }),
  /** The exits of the managed proxy that this pool is configured for. Absent: none. */
  exits: z.array(ExitOffer).max(10).exactOptional(),
  /** Whether a captcha provider is configured that takes tasks of this pool. Absent: none is. */
  captcha: z.boolean().exactOptional(),
  /** The wishes of `PlaceSlot` that this pool keeps (`SLOT_WISHES`). Absent: none, as of a pool older than the wishes. */
  keeps: z.array(text).max(20).exactOptional(),
  draining: z.boolean().exactOptional(),
  slots: z.array(SlotReport).max(1000),
});
export type PoolHeartbeat = z.infer<typeof PoolHeartbeat>;

/** POST /internal/hosts/:hostId/heartbeat: of either type of host. */
export const AnyHeartbeat = z.discriminatedUnion("type", [PoolHeartbeat, VmHeartbeat]);
export type AnyHeartbeat = z.infer<typeof AnyHeartbeat>;

/** 200 of a heartbeat. */
export const HeartbeatReply = z.object({
  /** The sessions or machines that the host must end. */
  end: z.array(z.string()),
  /** The sessions, machines and snapshots of which the host must report again what it has just reported. Absent: none. */
  again: z.array(z.string()).exactOptional(),
  /** When the next heartbeat is due at the latest. */
  pollMs: z.int().positive(),
});
export type HeartbeatReply = z.infer<typeof HeartbeatReply>;

/** The id a host gives itself: stable over restarts of the same machine. */
export const HostId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/);
