import { type Refusal, refusal } from "@svc/contract/errors.ts";
import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { TemplateLogEntry } from "@svc/contract/vm/template.ts";
import { DurableObject } from "cloudflare:workers";
import type { TemplateView } from "../control-plane/templates.ts";
import { atMost } from "./live/deadline.ts";
import { tried } from "./live/tried.ts";
import { LiveRecord } from "./live/live-record.ts";
import { lookAfterBuild } from "./template/build.ts";
import { type CreateTemplateOrder, createTemplate } from "./template/create.ts";
import { BuildLog } from "./template/log.ts";
import { perform } from "./template/perform.ts";
import { BuildOrder, type LiveTemplate, templateView } from "./template/record.ts";
import { TEMPLATE_TABLE } from "./template/table.ts";

/** What a machine of a template needs to know of it. */
export interface Bootable {
  template: TemplateView;
  /** What it can run on, as far as that is known. */
  platform: HostPlatform | null;
}

/** A page of a log, and the state of the build. */
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
  readonly #record: LiveTemplate["record"] = new LiveRecord(this.ctx, TEMPLATE_TABLE, {
    perform: (template, duty) => perform(this.env, template, duty),
    onChange: ({ state: before }, { state }) => {
      if (before.status === "building" && state.status !== "building") this.#order.forget();
      // The log ends with why there is no template.
      if (before.status === "building" && state.status === "failed")
        this.#log.say(state.error.message, state.error.step);
      this.#log.news.send();
    },
  });
  readonly #log = new BuildLog(this.ctx.storage.sql);
  readonly #order = new BuildOrder(this.ctx.storage);
  readonly #live: LiveTemplate = {
    env: this.env,
    record: this.#record,
    log: this.#log,
    order: this.#order,
  };

  create(order: CreateTemplateOrder): Promise<{ template: TemplateView } | Refusal> {
    return createTemplate(this.#live, order);
  }

  /** The template as it is now; null when there is none. */
  read(): TemplateView | null {
    const template = this.#record.tick();
    return template && templateView(template);
  }

  /** The same, and what machines of it can run on. */
  start(): Bootable | null {
    const template = this.read();
    return template && { template, platform: this.#record.load()?.platform ?? null };
  }

  /** A page of the log. Waits up to `waitMs` for a line, or the end of the build, when there is none. */
  async logs(offset: number, waitMs = 0): Promise<LogPage | null> {
    const page = this.#page(offset);
    if (!page || page.entries.length > 0 || page.state !== "building" || waitMs === 0) return page;
    await this.#log.news.next(waitMs);
    return this.#page(offset);
  }

  #page(offset: number): LogPage | null {
    const view = this.read();
    return view && { ...this.#log.read(offset), state: view.state };
  }

  /** Ends the build, if there is one. */
  cancel(): TemplateView | null {
    const template = this.#record.apply({ type: "cancel" });
    return template && templateView(template);
  }

  /** Null when there is none. */
  async delete(): Promise<{ deleted: true } | Refusal | null> {
    const before = this.read();
    if (!before) return null;
    if (before.state === "building")
      return refusal("TemplateBuilding", "The template is being built. Cancel that first.");
    this.#record.apply({ type: "delete" });
    // Out of the org's list when this answers, if that is soon; what is owed is repeated.
    await tried("row_not_written_yet", atMost(LIMITS.objectCallMs, this.#record.do("row")));
    return { deleted: true };
  }

  override alarm(): Promise<void> {
    return this.#record.rang(() => lookAfterBuild(this.#live));
  }
}
