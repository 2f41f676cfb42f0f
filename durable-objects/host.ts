import type { AnyHeartbeat, HeartbeatReply } from "@svc/contract/host-protocol/heartbeat.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { logOf } from "@svc/contract/log.ts";
import { DurableObject } from "cloudflare:workers";
import { noteDurable } from "../control-plane/snapshot-lineage.ts";
import { fleet } from "./fleet/registry.ts";
import type { HostStart } from "./host-calls/place.ts";
import { drainHost, type Subject } from "./host-calls/slots.ts";
import { removeSnapshotAt } from "./host-calls/vm-states.ts";
import type { Beat, HostChange, ReportAnswer } from "./host/messages.ts";
import {
  afterBeat,
  afterDeafness,
  afterSilence,
  endableBy,
  heldBy,
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
import { arm } from "./live/alarm.ts";
import { Lane } from "./live/lane.ts";

const log = logOf("durable-objects");
const KEY = "host";
const retryMs = 1000;
/** An alarm this late was not late by itself: the gateway was away, and could hear no host. */
const deafMs = 3000;
const SCHEMA = `CREATE TABLE IF NOT EXISTS placed (
  id TEXT PRIMARY KEY, boot_id TEXT NOT NULL, seq INTEGER NOT NULL, reported TEXT)`;

/** One host of either type: its last heartbeat, and what the gateway has placed there. */
export class HostDO extends DurableObject<Env> {
  readonly #sql = this.ctx.storage.sql;
  /** Heartbeats and alarms are taken one after the other: an older one must not be told last. */
  readonly #lane = new Lane();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql.exec(SCHEMA);
  }

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
    this.#sql.exec("INSERT OR IGNORE INTO placed VALUES (?, ?, ?, NULL)", id, bootId, seq);
    return host.away ? { type: "hostAway", seenAt } : null;
  }

  /** A session or sandbox that was placed here ended. */
  forget(id: string): void {
    this.#sql.exec("DELETE FROM placed WHERE id = ?", id);
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
    const agreed = await drainHost(this.env, host.beat.url).catch(() => false);
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
      this.#sql.exec("UPDATE placed SET reported = NULL");
    }
    await this.#settle();
  }

  async #take(hostId: string, beat: AnyHeartbeat): Promise<HeartbeatReply> {
    const before = this.#load();
    const pollMs = LIMITS.heartbeatMs;
    // An earlier start of this host is still running somewhere: nothing that runs there is anybody's.
    if (before && isRetired(before, beat)) return { end: endableBy(beat), pollMs };
    if (before && isOvertaken(before, beat)) return { end: [], pollMs };
    const host = afterBeat(hostId, beat, before, Date.now());
    this.#save(host);
    await this.#settle();
    // What reached the object store is repeated until this heartbeat is answered.
    if (beat.type === "vm" && beat.durableSnapshots?.length)
      await noteDurable(this.env.DB, beat.durableSnapshots);
    const placed = this.#placed();
    await this.#tellLost(host, missing(placed, beat), before?.seenAt ?? host.seenAt);
    const { bootId, url, seq } = beat;
    const from = { hostId, bootId, url, seq, heardAt: before?.seenAt ?? host.seenAt };
    return { end: await this.#reconcileAll(from, beat, placed), pollMs };
  }

  #load(): StoredHost | null {
    return this.ctx.storage.kv.get<StoredHost>(KEY) ?? null;
  }

  #save(host: StoredHost): void {
    this.ctx.storage.kv.put(KEY, host);
  }

  #placed(): Placed[] {
    return this.#sql.exec<Placed>("SELECT * FROM placed").toArray();
  }

  /** Does what is owed; what fails is kept, and the alarm tries again. */
  async #settle(): Promise<void> {
    for (const duty of this.#load()?.owed ?? []) {
      try {
        await this.#do(duty);
        this.#done(duty);
      } catch (error) {
        log.error("host_duty_failed", { duty, reason: error });
      }
    }
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
    const { hostId, beat, seenAt } = host;
    if (duty === "register") await fleet(this.env).put(recordOf(hostId, beat, seenAt));
    else if (duty === "unregister") await fleet(this.env).remove(hostId);
    else await this.#tellAll(host, duty);
  }

  #done(duty: HostDuty): void {
    const host = this.#load();
    if (!host) return;
    const registeredAt = duty === "register" ? Date.now() : host.registeredAt;
    this.#save({ ...host, registeredAt, owed: host.owed.filter((other) => other !== duty) });
  }

  async #reconcileAll(from: Beat, beat: AnyHeartbeat, placed: Placed[]): Promise<string[]> {
    const known = new Map(placed.map((row) => [row.id, row]));
    const answers = await Promise.allSettled(
      heldBy(beat).map((report) => this.#reconcile(from, report, known.get(report.id))),
    );
    const failed = answers.find((answer) => answer.status === "rejected");
    // Fails the heartbeat: the host repeats it, and so the end of a session with its reason, until all was told.
    if (failed) throw failed.reason;
    return answers.flatMap((answer) => (answer.status === "fulfilled" && answer.value) || []);
  }

  /** Tells a session or sandbox what its host reports, if that is new. Answers its id when the host shall end it. */
  async #reconcile(from: Beat, report: Report, row: Placed | undefined): Promise<string | null> {
    const reported = signatureOf(report);
    if (row?.boot_id === from.bootId && row.reported === reported) return null;
    const answer = await this.#tellReport(from, report);
    if (answer === "wait") return null;
    if (answer === "end") {
      this.forget(report.id);
      return report.id;
    }
    const sql = "INSERT OR REPLACE INTO placed VALUES (?, ?, ?, ?)";
    this.#sql.exec(sql, report.id, from.bootId, row?.seq ?? from.seq, reported);
    return null;
  }

  #tellReport(from: Beat, report: Report): Promise<ReportAnswer> {
    if ("opens" in report) return this.env.SESSIONS.getByName(report.id).report(from, report);
    return this.env.SANDBOXES.getByName(report.id).report(from, report);
  }

  async #tellLost(host: StoredHost, rows: Placed[], seenAt: number): Promise<void> {
    await Promise.all(
      rows.map(async (row) => {
        await this.#tell(host, row, { type: "hostLost", seenAt });
        this.forget(row.id);
      }),
    );
  }

  async #tellAll(host: StoredHost, type: "hostAway" | "hostBack"): Promise<void> {
    const change = { type, seenAt: host.seenAt };
    await Promise.all(this.#placed().map((row) => this.#tell(host, row, change)));
  }

  async #tell({ hostId, beat }: StoredHost, row: Placed, change: HostChange): Promise<void> {
    const start: HostStart = { hostId, bootId: row.boot_id };
    const { SESSIONS, SANDBOXES } = this.env;
    if (beat.type === "pool") await SESSIONS.getByName(row.id).hostChanged(start, change);
    else await SANDBOXES.getByName(row.id).hostChanged(start, change);
  }
}
