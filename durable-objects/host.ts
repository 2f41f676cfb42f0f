import type { AnyHeartbeat, HeartbeatReply } from "@svc/contract/host-protocol/heartbeat.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { logOf } from "@svc/contract/log.ts";
import { DurableObject } from "cloudflare:workers";
import { noteDurable } from "../control-plane/snapshot-lineage.ts";
import { fleet } from "./fleet/registry.ts";
import { drainHost, type Subject } from "./host-calls/slots.ts";
import { removeSnapshotAt } from "./host-calls/vm-states.ts";
import { HostCalls } from "./host/calls.ts";
import type { Beat, HostChange, ReportAnswer } from "./host/messages.ts";
import { PlacedRows } from "./host/placed-rows.ts";
import {
  afterBeat,
  afterDeafness,
  afterSilence,
  endableBy,
  endedIn,
  type HostDuty,
  isOvertaken,
  isRetired,
  missing,
  type Placed,
  recordOf,
  type Report,
  signatureOf,
  silentAt,
  type StoredHost,
} from "./host/reconcile.ts";
import { tellChange, tellReport, tellReports, type Telling } from "./host/telling.ts";
import { arm } from "./live/alarm.ts";
import { Lane } from "./live/lane.ts";
import { tried } from "./live/tried.ts";

const log = logOf("durable-objects");
const KEY = "host";
const retryMs = 1000;
/** An alarm this late was not late by itself: the gateway was away, and could hear no host. */
const deafMs = 3000;

/** One host of either type: its last heartbeat, and what the gateway has placed there. */
export class HostDO extends DurableObject<Env> {
  readonly #placed = new PlacedRows(this.ctx.storage.sql);
  /** Heartbeats and alarms are taken one after the other: an older one must not be told last. */
  readonly #lane = new Lane();
  readonly #calls = new HostCalls();
  readonly #telling: Telling = { env: this.env, calls: this.#calls };

  /** Takes a heartbeat: tells sessions and sandboxes what it means for them. Answers what the host shall end. */
  heartbeat(hostId: string, beat: AnyHeartbeat): Promise<HeartbeatReply> {
    return this.#lane.run(() => this.#take(hostId, beat));
  }

  /** A session or sandbox says that it was placed here. Answers what has happened to this start of the host; null for nothing. */
  place(id: string, bootId: string, seq: number): HostChange | null {
    const host = this.#load();
    if (!host) return { type: "hostAway", seenAt: Date.now() };
    const { seenAt } = host;
    const isHeld = host.beat.type === "vm" && host.beat.vms.some((vm) => vm.id === id);
    if (host.retired.includes(bootId)) return isHeld ? null : { type: "hostLost", seenAt };
    const row: Placed = { id, boot_id: bootId, seq, reported: null };
    if (host.beat.bootId === bootId && missing([row], host.beat).length > 0) {
      return { type: "hostLost", seenAt };
    }
    this.#placed.enter(row);
    return host.away ? { type: "hostAway", seenAt } : null;
  }

  /** A session or sandbox that was placed here ended. */
  forget(id: string): void {
    this.#placed.forget(id);
  }

  /** Tells the host to let go of a snapshot; false when it did not, or is not there. */
  async removeSnapshot(subject: Subject): Promise<boolean> {
    const host = this.#load();
    return host !== null && !host.away && removeSnapshotAt(this.env, host.beat.url, subject);
  }

  /** When the host was last heard, in ms since the epoch; null when never. */
  seenAt(): number | null {
    return this.#load()?.seenAt ?? null;
  }

  /** Asks the host to take no new sessions. `unknown`: it never registered; `silent`: it does not answer. */
  async drain(): Promise<"draining" | "unknown" | "silent"> {
    const host = this.#load();
    if (!host) return "unknown";
    const agreed = await tried("host_not_drained", drainHost(this.env, host.beat.url));
    return agreed ? "draining" : "silent";
  }

  override alarm(info?: AlarmInvocationInfo): Promise<void> {
    const lateMs = info ? Date.now() - info.scheduledTime : 0;
    return this.#lane.run(() => this.#ring(lateMs));
  }

  async #ring(lateMs: number): Promise<void> {
    const host = this.#load();
    const now = Date.now();
    if (host && !host.away && now >= silentAt(host)) {
      if (lateMs >= deafMs) this.#save(afterDeafness(host, now));
      else this.#save(afterSilence(host));
      // All that it reports when it is back is to be told, whatever it said before.
      this.#placed.unreport();
    }
    await this.#settle();
  }

  async #take(hostId: string, beat: AnyHeartbeat): Promise<HeartbeatReply> {
    const before = this.#load();
    // An earlier start of this host is still running somewhere: nothing that runs there is anybody's.
    if (before && isRetired(before, beat)) return replyOf(endableBy(beat));
    // Only a heartbeat that counts takes what it reports.
    if (before && isOvertaken(before, beat)) return replyOf([], endedIn(beat));
    const host = afterBeat(hostId, beat, before, Date.now());
    this.#save(host);
    await this.#settle();
    const heardAt = before?.seenAt ?? host.seenAt;
    const placed = this.#placed.all();
    const [unnoted, areLostTold] = await Promise.all([
      this.#noteDurable(beat),
      this.#tellLost(host, missing(placed, beat), heardAt),
    ]);
    const { bootId, url, seq } = beat;
    const clockMs = beat.type === "vm" ? host.seenAt - beat.sentAt : 0;
    const from = { hostId, bootId, url, seq, heardAt, clockMs };
    const known = new Map(placed.map((row) => [row.id, row]));
    const { end, again } = await tellReports(beat, (report) =>
      this.#tellNews(from, report, known.get(report.id)),
    );
    return replyOf(end, [...again, ...unnoted], areLostTold);
  }

  #load(): StoredHost | null {
    return this.ctx.storage.kv.get<StoredHost>(KEY) ?? null;
  }

  #save(host: StoredHost): void {
    this.ctx.storage.kv.put(KEY, host);
  }

  /** Does what is owed, all at once; what fails is kept, and the alarm tries again. */
  async #settle(): Promise<void> {
    const settling = (this.#load()?.owed ?? []).map(async (duty) => {
      try {
        await this.#do(duty);
        this.#done(duty);
      } catch (error) {
        log.error("host_duty_failed", { duty, reason: error });
      }
    });
    await Promise.all(settling);
    await arm(this.ctx.storage, () => {
      const host = this.#load();
      return {
        silence: !host || host.away ? null : silentAt(host),
        retry: host && host.owed.length > 0 ? Date.now() + retryMs : null,
      };
    });
  }

  async #do(duty: HostDuty): Promise<void> {
    const host = this.#load();
    if (!host) return;
    if (duty === "register" || duty === "unregister")
      return this.#calls.ask("the fleet", () => enter(this.env, host, duty));
    const change = { type: duty, seenAt: host.seenAt };
    const untold = await tellChange(this.#telling, host, change, this.#placed.all());
    if (untold.length > 0) throw new Error(`${untold.length} objects were not told`);
  }

  #done(duty: HostDuty): void {
    const host = this.#load();
    if (!host) return;
    const registeredAt = duty === "register" ? Date.now() : host.registeredAt;
    this.#save({ ...host, registeredAt, owed: host.owed.filter((other) => other !== duty) });
  }

  /** Notes the snapshots that reached the object store. Answers those of which that failed: the host names them again. */
  async #noteDurable(beat: AnyHeartbeat): Promise<string[]> {
    const ids = (beat.type === "vm" && beat.durableSnapshots) || [];
    if (ids.length === 0) return [];
    try {
      await this.#calls.ask("D1", () => noteDurable(this.env.DB, ids));
      return [];
    } catch (error) {
      log.warn("durable_snapshots_not_noted", { snapshots: ids.length, reason: error });
      return ids;
    }
  }

  /** Tells a session or sandbox what its host reports, if that is new, and notes that it was told. */
  async #tellNews(from: Beat, report: Report, row: Placed | undefined): Promise<ReportAnswer> {
    const { id } = report;
    const reported = signatureOf(report);
    if (row?.boot_id === from.bootId && row.reported === reported) return "keep";
    const answer = await tellReport(this.#telling, from, report);
    if (answer === "end") this.forget(id);
    if (answer === "keep")
      this.#placed.note({ id, boot_id: from.bootId, seq: row?.seq ?? from.seq, reported });
    return answer;
  }

  /** Tells what was placed here that it is lost. False when some were not told: the next heartbeat finds them again. */
  async #tellLost(host: StoredHost, rows: Placed[], seenAt: number): Promise<boolean> {
    const change = { type: "hostLost", seenAt } as const;
    const untold = await tellChange(this.#telling, host, change, rows);
    for (const row of rows) if (!untold.includes(row)) this.forget(row.id);
    return untold.length === 0;
  }
}

/** Enters a host in the fleet, or takes it out. */
async function enter(
  env: Env,
  { hostId, beat, seenAt }: StoredHost,
  duty: "register" | "unregister",
): Promise<void> {
  if (duty === "register") await fleet(env).put(recordOf(hostId, beat, seenAt));
  else await fleet(env).remove(hostId);
}

/** The answer to a heartbeat. A host to which something is left to be told beats again soon. */
function replyOf(end: string[], again: string[] = [], isAllTold = true): HeartbeatReply {
  if (again.length === 0 && isAllTold) return { end, pollMs: LIMITS.heartbeatMs };
  return { end, ...(again.length > 0 && { again }), pollMs: LIMITS.heartbeatAgainMs };
}
