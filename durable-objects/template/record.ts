import type { BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import type { TemplateView } from "../../control-plane/templates.ts";
import type { SavedMachine } from "../fleet/restorable.ts";
import type { LiveRecord } from "../live/live-record.ts";
import type { TemplateDuty } from "./duties.ts";
import type { BuildLog } from "./log.ts";
import type { TemplateEvent, TemplateState } from "./transitions.ts";

/** Everything a TemplateDO stores of a template, but its log and what is to be built. */
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
  /** What machines of it can run on: the platform of the host that built it. Absent while that is not known. */
  platform?: HostPlatform | null;
  /** What the template that it begins with can run on. */
  fromPlatform?: HostPlatform | null;
  /** How much of the log of the host that builds it is in ours. */
  hostOffset: number;
  owed: TemplateDuty[];
  retryAt: number | null;
  /** When to look after the build again; null while there is none. */
  lookAt: number | null;
}

/** What an operation on a template works with. */
export interface LiveTemplate {
  env: Env;
  record: LiveRecord<StoredTemplate, TemplateEvent, TemplateDuty>;
  log: BuildLog;
  order: BuildOrder;
}

/** What is to be built, stored until the build is over. */
export class BuildOrder {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Null once the build is over. */
  load(): BuildTemplate | null {
    return this.#storage.kv.get<BuildTemplate>("ask") ?? null;
  }

  save(order: BuildTemplate): void {
    this.#storage.kv.put("ask", order);
  }

  forget(): void {
    this.#storage.kv.delete("ask");
  }
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
