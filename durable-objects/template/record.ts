import type { BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import type { TemplateLogEntry } from "@svc/contract/vm/template.ts";
import type { TemplateView } from "../../control-plane/templates.ts";
import type { SavedMachine } from "../fleet/restorable.ts";
import {
  duties,
  step,
  type TemplateDuty,
  type TemplateEvent,
  type TemplateState,
  timers,
} from "./transitions.ts";

const KEY = "template";
const ASK_KEY = "ask";
const retryMs = 5000;

/** Everything a TemplateDO keeps of a template, but its log and what is to be built. */
export interface StoredTemplate {
  id: string;
  org: string;
  name: string;
  kind: TemplateView["kind"];
  /** What was asked for, and once it is built what machines of it get. */
  cpu: number;
  memMb: number;
  diskGb: number;
  steps: number;
  createdAt: number;
  state: TemplateState;
  /** Where the snapshot that it begins with can go on; null where any host will do. */
  saved: SavedMachine | null;
  /** What machines of it can run on: of the host that has built it. Absent while that is not known. */
  platform?: HostPlatform | null;
  /** What the template that it begins with can run on. */
  fromPlatform?: HostPlatform | null;
  /** How much of the log of the host that builds it is in ours. */
  hostOffset: number;
  owed: TemplateDuty[];
  /** When to try again what is owed; null while nothing is. */
  retryAt: number | null;
  /** When to look after the build again; null while there is none. */
  lookAt: number | null;
}

interface LogRow extends Record<string, SqlStorageValue> {
  n: number;
  ts: number;
  step: number;
  stream: TemplateLogEntry["stream"];
  line: string;
}

/** The record of a template, its log, and the alarm of what is to be done. All of it is synchronous. */
export class TemplateStore {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  load(): StoredTemplate | null {
    return this.#storage.kv.get<StoredTemplate>(KEY) ?? null;
  }

  /** What is to be built; null once nobody needs it. */
  ask(): BuildTemplate | null {
    return this.#storage.kv.get<BuildTemplate>(ASK_KEY) ?? null;
  }

  begin(template: StoredTemplate, ask: BuildTemplate): void {
    this.#storage.sql.exec(
      `CREATE TABLE log (n INTEGER PRIMARY KEY AUTOINCREMENT, ts INTEGER NOT NULL,
       step INTEGER NOT NULL, stream TEXT NOT NULL, line TEXT NOT NULL)`,
    );
    this.#storage.kv.put(ASK_KEY, ask);
    this.save(template);
  }

  /** Writes the record, and with it the alarm of the next thing that is due. */
  save(template: StoredTemplate): void {
    this.#storage.kv.put(KEY, template);
    const next = nextOf(template);
    if (next !== null) void this.#storage.setAlarm(next);
  }

  /** Applies an event; null when there is no template. */
  apply(
    event: TemplateEvent,
    now: number,
    facts: Partial<StoredTemplate> = {},
  ): { template: StoredTemplate; fresh: TemplateDuty[] } | null {
    const before = this.load();
    if (!before) return null;
    const state = step(before.state, event, now);
    if (state === before.state && Object.keys(facts).length === 0)
      return { template: before, fresh: [] };
    const fresh = duties(before.state, state);
    const owed = [...new Set([...before.owed, ...fresh])];
    const isOver = state.status !== "building";
    const template = {
      ...before,
      ...facts,
      state,
      owed,
      retryAt: fresh.length > 0 ? now + retryMs : before.retryAt,
      lookAt: isOver ? null : (facts.lookAt ?? before.lookAt),
    };
    this.save(template);
    if (isOver && before.state.status === "building") this.#storage.kv.delete(ASK_KEY);
    return { template, fresh };
  }

  /** Ticks off a duty, unless the template has moved on since and owes it anew. */
  done(duty: TemplateDuty, status: TemplateState["status"]): void {
    const template = this.load();
    if (template?.state.status !== status) return;
    const owed = template.owed.filter((other) => other !== duty);
    this.save({ ...template, owed, retryAt: owed.length === 0 ? null : template.retryAt });
  }

  retryLater(now: number): void {
    const template = this.load();
    if (template) this.save({ ...template, retryAt: now + retryMs });
  }

  /** Looks after the build again at a time. */
  lookAgain(at: number): void {
    const template = this.load();
    if (template?.state.status === "building") this.save({ ...template, lookAt: at });
  }

  /** Adds lines to the log; of a long one the newest stay. */
  write(entries: TemplateLogEntry[]): void {
    const { sql } = this.#storage;
    for (const { ts, step: of, stream, line } of entries)
      sql.exec(
        "INSERT INTO log (ts, step, stream, line) VALUES (?, ?, ?, ?)",
        ts,
        of,
        stream,
        line.slice(0, TEMPLATE_LIMITS.lineCharacters),
      );
    if (entries.length > 0)
      sql.exec("DELETE FROM log WHERE n <= (SELECT max(n) FROM log) - ?", TEMPLATE_LIMITS.logLines);
  }

  /** A page of the log, from `offset` on or from the oldest line that there is. */
  read(offset: number): { entries: TemplateLogEntry[]; nextOffset: number } {
    const rows = this.#storage.sql
      .exec<LogRow>(
        "SELECT * FROM log WHERE n > ? ORDER BY n LIMIT ?",
        offset,
        TEMPLATE_LIMITS.pageLines,
      )
      .toArray();
    const entries = rows.map(({ ts, step: of, stream, line }) => ({ ts, step: of, stream, line }));
    return { entries, nextOffset: rows.at(-1)?.n ?? offset };
  }

  /** Forgets the template, once it is deleted and nothing is owed. Whether it did. */
  async eraseIfDone(): Promise<boolean> {
    const template = this.load();
    if (template?.state.status !== "deleted" || template.owed.length > 0) return false;
    await this.#storage.deleteAlarm();
    await this.#storage.deleteAll();
    return true;
  }
}

function nextOf({ state, owed, retryAt, lookAt }: StoredTemplate): number | null {
  const times = [...Object.values(timers(state)), lookAt, owed.length > 0 ? retryAt : null];
  const next = Math.min(...times.filter((at) => at !== null));
  return Number.isFinite(next) ? next : null;
}

/** The template as its owner sees it; null once it is deleted. */
export function templateView({ state, ...facts }: StoredTemplate): TemplateView | null {
  if (state.status === "deleted") return null;
  const { id, org, name, kind, cpu, memMb, diskGb, steps, createdAt } = facts;
  const error = state.status === "failed" ? state.error : null;
  const readyAt = state.status === "ready" ? state.readyAt : null;
  const known = { id, org, name, kind, cpu, memMb, diskGb, steps, createdAt };
  return { ...known, state: state.status, step: state.step, error, readyAt };
}
