import { type Refusal, refusal } from "@svc/contract/errors.ts";
import type { BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import type { TemplateLogEntry } from "@svc/contract/vm/template.ts";
import { DurableObject } from "cloudflare:workers";
import { beginTemplate, type TemplateView } from "../control-plane/templates.ts";
import { atMost } from "./live/deadline.ts";
import type { Reserved } from "./org.ts";
import { newBuild, type TemplateDuty, type TemplateEvent } from "./template/transitions.ts";
import type { SavedMachine } from "./fleet/restorable.ts";
import { attend } from "./template/build.ts";
import { perform } from "./template/perform.ts";
import { type StoredTemplate, TemplateStore, templateView } from "./template/record.ts";

/** What a TemplateDO is told to build. */
export interface CreateTemplateOrder {
  id: string;
  org: string;
  plan: string;
  /** How many templates the plan allows. */
  cap: number;
  name: string;
  ask: BuildTemplate;
  /** Where the snapshot that it begins with can go on; null where any host will do. */
  saved: SavedMachine | null;
  /** What the template that it begins with can run on, as far as that is known. */
  fromPlatform: HostPlatform | null;
}

/** What a machine of a template needs to know of it. */
export interface Bootable {
  template: TemplateView;
  /** What it can run on, as far as that is known. */
  platform: HostPlatform | null;
}

/** A page of a log, and how the build stands. */
export interface LogPage {
  entries: TemplateLogEntry[];
  nextOffset: number;
  state: TemplateView["state"];
}

/** The object of an org's template. Another org's id names an object that has nothing. */
export const templateObject = (env: Env, org: string, id: string) =>
  env.TEMPLATES.getByName(`${org} ${id}`);

/** One custom template: its build, its log, and what hosts are to be told of it. */
export class TemplateDO extends DurableObject<Env> {
  readonly #store = new TemplateStore(this.ctx.storage);
  /** Those who wait for the next line. */
  readonly #followers = new Set<() => void>();

  /** Begins a build. It is in the org's list when this answers. */
  async create(order: CreateTemplateOrder): Promise<{ template: TemplateView } | Refusal> {
    const refused = await this.#reserve(order);
    if (refused) return refused;
    const template = newTemplate(order, Date.now());
    this.#store.begin(template, order.ask);
    const view = templateView(template);
    const isEntered = view && (await beginTemplate(this.env.DB, view, order.cap).catch(() => null));
    if (isEntered) {
      this.#store.done("row", template.state.status);
      this.#store.lookAgain(Date.now());
      return { template: view };
    }
    // What nobody was told of is not built.
    this.#apply({ type: "cancel" });
    this.#apply({ type: "delete" });
    if (isEntered === false) return capped(order);
    return refusal("ControlPlaneUnavailable", "The template could not be written. Try again.");
  }

  /** The template as it is now; null when there is none. */
  read(): TemplateView | null {
    const template = this.#apply({ type: "tick" });
    return template && templateView(template);
  }

  /** The same, and where machines of it can run. */
  start(): Bootable | null {
    const template = this.read();
    return template && { template, platform: this.#store.load()?.platform ?? null };
  }

  /** A page of the log. Waits up to `waitMs` for a line, or the end of the build, when there is none. */
  async logs(offset: number, waitMs = 0): Promise<LogPage | null> {
    const page = this.#page(offset);
    if (!page || page.entries.length > 0 || page.state !== "building" || waitMs === 0) return page;
    let wake = (): void => undefined;
    const news = new Promise<void>((resolve) => (wake = resolve));
    this.#followers.add(wake);
    await atMost(waitMs, news).catch(() => undefined);
    this.#followers.delete(wake);
    return this.#page(offset);
  }

  /** Ends the build, if there is one. */
  cancel(): TemplateView | null {
    const template = this.#apply({ type: "cancel" });
    return template && templateView(template);
  }

  /** Null when there is none. */
  async delete(): Promise<{ deleted: true } | Refusal | null> {
    const before = this.read();
    if (!before) return null;
    if (before.state === "building")
      return refusal("TemplateBuilding", "The template is being built. Cancel that first.");
    this.#apply({ type: "delete" });
    // Out of the org's list when this answers, if that is soon; what is owed is repeated.
    await atMost(LIMITS.objectCallMs, this.#do("row")).catch(() => undefined);
    return { deleted: true };
  }

  override async alarm(): Promise<void> {
    const template = this.#apply({ type: "tick" });
    if (!template) return;
    await Promise.all(template.owed.map((duty) => this.#do(duty)));
    if (template.state.status === "building") {
      const waitMs = await attend(this.env, this.#desk).catch((error: unknown) => {
        log("build_look_failed", error);
        return LIMITS.heartbeatMs;
      });
      this.#store.lookAgain(Date.now() + waitMs);
    }
    await this.#store.eraseIfDone();
  }

  readonly #desk = {
    read: () => this.#store.load(),
    ask: () => this.#store.ask(),
    apply: (event: TemplateEvent, facts?: Partial<StoredTemplate>) =>
      void this.#apply(event, facts),
    write: (entries: TemplateLogEntry[]) => this.#write(entries),
  };

  async #reserve({ id, org, plan }: CreateTemplateOrder): Promise<Refusal | null> {
    const { buildsAtOnce: cap, buildMs, hostWaitMs } = TEMPLATE_LIMITS;
    const lapsesAt = Date.now() + buildMs + hostWaitMs + LIMITS.overdueMs;
    let answer: Reserved;
    try {
      const asking = this.env.ORGS.getByName(org).reserveBuild({ id, cap, lapsesAt });
      answer = await atMost(LIMITS.objectCallMs, asking);
    } catch {
      return refusal(
        "AdmissionUnavailable",
        "The builds of the org could not be counted. Try again.",
      );
    }
    if (answer.reserved) return null;
    const { holders } = answer;
    const text = "Another template of the org is being built. Wait for it, or cancel it.";
    return refusal("ConcurrencyLimitExceeded", text, { plan, cap, kind: "template", holders });
  }

  #page(offset: number): LogPage | null {
    const view = this.read();
    return view && { ...this.#store.read(offset), state: view.state };
  }

  #apply(event: TemplateEvent, facts?: Partial<StoredTemplate>): StoredTemplate | null {
    const before = this.#store.load()?.state;
    const applied = this.#store.apply(event, Date.now(), facts);
    if (!applied) return null;
    const { template, fresh } = applied;
    if (before?.status === "building" && template.state.status === "failed")
      this.#explain(template);
    for (const duty of fresh) this.ctx.waitUntil(this.#do(duty));
    if (fresh.length > 0) this.#wake();
    return template;
  }

  /** The log ends with why there is no template. */
  #explain({ state }: StoredTemplate): void {
    if (state.status !== "failed") return;
    const { step, message: line } = state.error;
    this.#write([{ ts: Date.now(), step, stream: "system", line }]);
  }

  #write(entries: TemplateLogEntry[]): void {
    this.#store.write(entries);
    if (entries.length > 0) this.#wake();
  }

  #wake(): void {
    for (const wake of this.#followers) wake();
  }

  async #do(duty: TemplateDuty): Promise<void> {
    const template = this.#store.load();
    if (!template) return;
    try {
      const events = await perform(this.env, template, duty);
      for (const event of events) this.#apply(event);
      this.#store.done(duty, template.state.status);
    } catch (error) {
      log("template_duty_failed", error);
      this.#store.retryLater(Date.now());
    }
    await this.#store.eraseIfDone();
  }
}

function capped({ plan, cap }: CreateTemplateOrder): Refusal {
  const text = `The ${plan} plan allows ${cap} templates. Delete one and try again.`;
  return refusal("PlanLimitExceeded", text, { plan, cap, kind: "template" });
}

function newTemplate(order: CreateTemplateOrder, now: number): StoredTemplate {
  const { id, org, name, ask, saved, fromPlatform } = order;
  const { kind, cpu, memMb, diskGb, steps } = ask;
  const facts = { id, org, name, kind, cpu, memMb, diskGb, steps: steps.length, createdAt: now };
  const pending = {
    saved,
    fromPlatform,
    hostOffset: 0,
    owed: ["row" as const],
    retryAt: now + LIMITS.objectCallMs,
  };
  // Before its row is there no host is asked; one that dies until then is woken for both.
  return { ...facts, ...pending, state: newBuild(now), lookAt: now + LIMITS.objectCallMs };
}

function log(event: string, error: unknown): void {
  console.error(JSON.stringify({ level: "error", event, error: String(error) }));
}
