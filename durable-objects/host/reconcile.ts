import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import type { AnyHeartbeat, SlotReport } from "@svc/contract/host-protocol/heartbeat.ts";
import type { VmReport } from "@svc/contract/host-protocol/vms.ts";
import { LIMITS } from "@svc/contract/limits.ts";

/** What a change of a host obliges its object to, in this order; each is repeated until done. */
export type HostDuty = "unregister" | "register" | "hostAway" | "hostBack";

/** What is stored of a host between heartbeats. Times are ms since the epoch. */
export interface StoredHost {
  hostId: string;
  beat: AnyHeartbeat;
  seenAt: number;
  away: boolean;
  /** When the gateway itself came back, if that was after it last heard the host. */
  deafUntil: number;
  /** Earlier starts of this host: what they hold is nobody's. */
  retired: string[];
  /** When the fleet last took its record. */
  registeredAt: number;
  owed: HostDuty[];
}

/** A session or sandbox that the gateway has placed on a host, and what the host last said of it. */
export interface Placed extends Record<string, SqlStorageValue> {
  id: string;
  boot_id: string;
  /** The host's seq at the placement, or at the heartbeat that first named it. */
  seq: number;
  reported: string | null;
}

/** The host after a heartbeat that counts. */
export function afterBeat(
  hostId: string,
  beat: AnyHeartbeat,
  before: StoredHost | null,
  now: number,
): StoredHost {
  const retired = before ? retiredBy(before, beat) : [];
  const registeredAt = before?.registeredAt ?? 0;
  const host = { hostId, beat, seenAt: now, away: false, deafUntil: 0, retired, registeredAt };
  const wasAway = before?.away ?? false;
  const pending = before?.owed.filter((duty) => duty === "register" || duty === "hostBack") ?? [];
  const fresh: HostDuty[] = [];
  if (!before || wasAway || hasChanged(before, beat, now)) fresh.push("register");
  if (wasAway) fresh.push("hostBack");
  return { ...host, owed: [...new Set([...pending, ...fresh])] };
}

/** When a host that says nothing more is away. */
export const silentAt = ({ seenAt, deafUntil }: StoredHost): number =>
  Math.max(seenAt, deafUntil) + LIMITS.hostSilenceMs;

/** The host once the gateway itself was away: the host has its whole time to be heard again. */
export const afterDeafness = (host: StoredHost, now: number): StoredHost => ({
  ...host,
  deafUntil: now,
});

/** The host once it has been silent for too long. */
export const afterSilence = (host: StoredHost): StoredHost => ({
  ...host,
  away: true,
  owed: ["unregister", "hostAway"],
});

function retiredBy(before: StoredHost, beat: AnyHeartbeat): string[] {
  const isAnother = before.beat.bootId !== beat.bootId;
  return [...before.retired, ...(isAnother ? [before.beat.bootId] : [])].slice(-10);
}

/** Whether the fleet should be told: a fact of the host has changed, or it was told long ago. */
function hasChanged(before: StoredHost, beat: AnyHeartbeat, now: number): boolean {
  if (now - before.registeredAt >= LIMITS.registerMs) return true;
  const text = (of: AnyHeartbeat) => JSON.stringify(recordOf("", of, 0));
  return before.beat.bootId !== beat.bootId || text(before.beat) !== text(beat);
}

/** What a host says of the sessions or machines on it. */
export const heldBy = (beat: AnyHeartbeat): Report[] =>
  beat.type === "pool" ? beat.slots : beat.vms;

/** What an earlier start of a host shall end: all but paused machines, which the later start holds as well. */
export const endableBy = (beat: AnyHeartbeat): string[] =>
  heldBy(beat)
    .filter((report) => !("state" in report) || report.state !== "paused")
    .map(({ id }) => id);

/** The ids of sessions or machines that have ended on the host, by its heartbeat. */
export const endedIn = (beat: AnyHeartbeat): string[] =>
  heldBy(beat).flatMap(({ id, ended }) => (ended === undefined ? [] : [id]));

/** What was placed on a host and is gone from it: it was on an earlier start, or a newer heartbeat does not name it. */
export function missing(placed: Placed[], beat: AnyHeartbeat): Placed[] {
  const held = new Set(heldBy(beat).map(({ id }) => id));
  // Paused machines outlive their host's process: its next start names them again.
  const isLasting = beat.type === "vm";
  return placed.filter((row) => {
    const isSameStart = row.boot_id === beat.bootId;
    if (held.has(row.id)) return !isSameStart && !isLasting;
    return !isSameStart || row.seq < beat.seq;
  });
}

/** Whether a heartbeat comes from an earlier start of the host. */
export const isRetired = (host: StoredHost, beat: AnyHeartbeat): boolean =>
  host.retired.includes(beat.bootId);

/** Whether a heartbeat is a repeat, or older than the last one that counted. */
export const isOvertaken = (host: StoredHost, beat: AnyHeartbeat): boolean =>
  host.beat.bootId === beat.bootId && beat.seq <= host.beat.seq;

/** A session or machine on a host, as the host sees it. */
export type Report = SlotReport | VmReport;

/** The part of a report that a session or sandbox must hear of when it changes. */
export function signatureOf(report: Report): string {
  if ("opens" in report) {
    const { opens, closes, lastClose, ended, rungs } = report;
    return JSON.stringify([opens, closes, lastClose, ended, rungs]);
  }
  const { state, ended, parked, lastActivityAt, recordId, durable, checkpointAt } = report;
  return JSON.stringify([state, ended, parked, lastActivityAt, recordId, durable, checkpointAt]);
}

/** What the fleet knows of a host. */
export function recordOf(hostId: string, beat: AnyHeartbeat, seenAt: number): HostRecord {
  if (beat.type === "pool") {
    const { bootId: _bootId, seq: _seq, slots: _slots, draining = false, ...facts } = beat;
    return { hostId, ...facts, draining, seenAt };
  }
  const { bootId: _bootId, seq: _seq, vms: _vms, durableSnapshots: _stored, ...rest } = beat;
  const { sentAt: _sentAt, ...known } = rest;
  const { draining = false, versions, ...facts } = known;
  const { qemu, kernel } = versions;
  const programs = { qemu, ...(kernel !== undefined && { kernel }) };
  return { hostId, ...facts, versions: programs, draining, seenAt };
}
