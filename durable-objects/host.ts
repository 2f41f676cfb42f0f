import type {
  Heartbeat,
  HeartbeatReply,
  SlotReport,
} from "@svc/contract/host-protocol/heartbeat.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { DurableObject } from "cloudflare:workers";
import { arm } from "./alarms.ts";
import { fleet } from "./fleet.ts";
import { drainHost } from "./host-client.ts";
import {
  isStale,
  missing,
  type Placed,
  recordOf,
  sameRecord,
  signatureOf,
} from "./host-reconcile.ts";

/** What is kept of a host between heartbeats. */
interface StoredHost {
  hostId: string;
  beat: Heartbeat;
  seenAt: number;
  away: boolean;
  /** Earlier starts of this host: a late heartbeat of theirs says nothing any more. */
  retired: string[];
}

const KEY = "host";
const SCHEMA = `CREATE TABLE IF NOT EXISTS placed (
  id TEXT PRIMARY KEY, boot_id TEXT NOT NULL, seq INTEGER NOT NULL, reported TEXT)`;

/** One host: its last heartbeat, and what the gateway has placed there. */
export class HostDO extends DurableObject<Env> {
  readonly #sql = this.ctx.storage.sql;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql.exec(SCHEMA);
  }

  /** Takes a heartbeat: tells every session what it means for it, answers what the host shall end. */
  async heartbeat(hostId: string, beat: Heartbeat): Promise<HeartbeatReply> {
    const before = this.#load();
    if (before && isStale(before, beat)) return { end: [], pollMs: LIMITS.heartbeatMs };
    this.#note(hostId, beat, before);
    await this.#register(before);
    const source = { hostId, bootId: beat.bootId };
    const placed = this.#placed();
    await this.#tellLost(hostId, missing(placed, beat));
    if (before?.away) await this.#tellAll(hostId, "hostBack");
    const known = new Map(placed.map((row) => [row.id, row]));
    const answers = await Promise.all(
      beat.slots.map((slot) => this.#reconcile(source, slot, known.get(slot.id), beat.seq)),
    );
    return { end: answers.flatMap((id) => id ?? []), pollMs: LIMITS.heartbeatMs };
  }

  /** A session says that it was placed here. Answers what is known of this start of the host by now. */
  place(id: string, bootId: string, seq: number): "done" | "hostAway" | "hostLost" {
    const host = this.#load();
    if (!host) return "hostAway";
    if (host.retired.includes(bootId)) return "hostLost";
    const row: Placed = { id, boot_id: bootId, seq, reported: null };
    if (host.beat.bootId === bootId && missing([row], host.beat).length > 0) return "hostLost";
    this.#sql.exec("INSERT OR IGNORE INTO placed VALUES (?, ?, ?, NULL)", id, bootId, seq);
    return host.away ? "hostAway" : "done";
  }

  /** A session ended. */
  forget(id: string): void {
    this.#sql.exec("DELETE FROM placed WHERE id = ?", id);
  }

  /** When the host was last heard, in ms since the epoch; null when never. */
  seenAt(): number | null {
    return this.#load()?.seenAt ?? null;
  }

  /** Asks the host to take no new sessions. `unknown`: it never registered, or does not answer. */
  async drain(): Promise<"draining" | "unknown"> {
    const host = this.#load();
    if (!host) return "unknown";
    const agreed = await drainHost(this.env, host.beat.url).catch(() => false);
    return agreed ? "draining" : "unknown";
  }

  override async alarm(): Promise<void> {
    const host = this.#load();
    if (!host || host.away) return;
    if (Date.now() < host.seenAt + LIMITS.hostSilenceMs) return this.#arm(host);
    this.#save({ ...host, away: true });
    await fleet(this.env).remove(host.hostId);
    await this.#tellAll(host.hostId, "hostAway");
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

  #note(hostId: string, beat: Heartbeat, before: StoredHost | null): void {
    const restarted = before && before.beat.bootId !== beat.bootId;
    const retired = [...(before?.retired ?? []), ...(restarted ? [before.beat.bootId] : [])];
    const seenAt = Date.now();
    this.#save({ hostId, beat, seenAt, away: false, retired: retired.slice(-10) });
  }

  /** Writes the host into the fleet when what the fleet knows of it has changed. */
  async #register(before: StoredHost | null): Promise<void> {
    const host = this.#load();
    if (!host) return;
    await this.#arm(host);
    const record = recordOf(host.hostId, host.beat, host.seenAt);
    const old = before && recordOf(before.hostId, before.beat, before.seenAt);
    if (!old || before.away || !sameRecord(old, record)) await fleet(this.env).put(record);
  }

  async #arm({ seenAt }: StoredHost): Promise<void> {
    // Left alone while one is pending: the alarm looks at the time of the last heartbeat itself.
    if ((await this.ctx.storage.getAlarm()) === null) {
      await arm(this.ctx.storage, { silence: seenAt + LIMITS.hostSilenceMs });
    }
  }

  async #reconcile(
    source: { hostId: string; bootId: string },
    slot: SlotReport,
    row: Placed | undefined,
    seq: number,
  ): Promise<string | null> {
    const reported = signatureOf(slot);
    if (row?.boot_id === source.bootId && row.reported === reported) return null;
    try {
      const answer = await this.env.SESSIONS.getByName(slot.id).report(source, slot);
      if (answer === "wait") return null;
      if (answer === "end") {
        this.forget(slot.id);
        return slot.id;
      }
      const sql = "INSERT OR REPLACE INTO placed VALUES (?, ?, ?, ?)";
      this.#sql.exec(sql, slot.id, source.bootId, row?.seq ?? seq, reported);
    } catch (error) {
      log("report_failed", error);
    }
    return null;
  }

  async #tellLost(hostId: string, rows: Placed[]): Promise<void> {
    for (const row of rows) {
      if (await this.#tell(hostId, row, "hostLost")) this.forget(row.id);
    }
  }

  async #tellAll(hostId: string, type: "hostAway" | "hostBack"): Promise<void> {
    await Promise.all(this.#placed().map((row) => this.#tell(hostId, row, type)));
  }

  async #tell(
    hostId: string,
    row: Placed,
    type: "hostAway" | "hostBack" | "hostLost",
  ): Promise<boolean> {
    try {
      const source = { hostId, bootId: row.boot_id };
      await this.env.SESSIONS.getByName(row.id).hostChanged(source, type);
      return true;
    } catch (error) {
      log("tell_failed", error);
      return false;
    }
  }
}

function log(event: string, error: unknown): void {
  console.error(JSON.stringify({ level: "error", event, error: String(error) }));
}
