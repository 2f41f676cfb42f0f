import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import type { Heartbeat, SlotReport } from "@svc/contract/host-protocol/heartbeat.ts";

/** A session the gateway has placed on a host, and what the host last said of it. */
export interface Placed extends Record<string, SqlStorageValue> {
  id: string;
  boot_id: string;
  /** The host's seq at the placement, or at the heartbeat that first named it. */
  seq: number;
  reported: string | null;
}

/** What was placed here and is not here any more: another start of the host, or a newer list without it. */
export function missing(placed: Placed[], beat: Heartbeat): Placed[] {
  const held = new Set(beat.slots.map((slot) => slot.id));
  return placed.filter(
    (row) => row.boot_id !== beat.bootId || (row.seq < beat.seq && !held.has(row.id)),
  );
}

/** Whether a heartbeat says nothing new: an earlier start, or one that was overtaken or repeated. */
export function isStale(host: { beat: Heartbeat; retired: string[] }, beat: Heartbeat): boolean {
  if (host.retired.includes(beat.bootId)) return true;
  return host.beat.bootId === beat.bootId && beat.seq <= host.beat.seq;
}

/** The part of a report that a session must hear of when it changes. */
export function signatureOf({ sockets, lastClose, ended }: SlotReport): string {
  return JSON.stringify([sockets, lastClose, ended]);
}

/** What the fleet knows of a host. */
export function recordOf(hostId: string, beat: Heartbeat, seenAt: number): HostRecord {
  const { bootId: _bootId, seq: _seq, slots: _slots, draining = false, ...facts } = beat;
  return { hostId, ...facts, draining, seenAt };
}

/** Whether the fleet would learn nothing: all but the time is the same. */
export function sameRecord(left: HostRecord, right: HostRecord): boolean {
  return JSON.stringify({ ...left, seenAt: 0 }) === JSON.stringify({ ...right, seenAt: 0 });
}
