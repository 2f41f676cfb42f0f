import { SvcError } from "./errors.ts";
import { type HttpClient } from "./http/client.ts";
import { type CallOptions, sleep, within } from "./http/deadline.ts";
import { Pages } from "./http/pages.ts";
import type { Answered, Sent } from "@svc/contract/operations/routes.ts";
import { createTemplate, TemplateBuilder, type TemplateRecord } from "./template-builder.ts";

/** A template in a list: a built-in one has `builtin: true` and a name for an id. */
export type ListedTemplate = Answered<"GET /templates">["templates"][number];
/** A line of a build's log. */
export type TemplateLine = Answered<"GET /templates/:id/logs">["entries"][number];

const LOOK_MS = 1_000;

/** Custom templates: machines made of one start where its build ended. */
export class Templates {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Begins a template on a built-in one, as `base`, or on a template of the org. */
  from(template: string): TemplateBuilder {
    return new TemplateBuilder(this.#http, { template });
  }

  /** Begins a template on a snapshot. */
  fromSnapshot(snapshot: string): TemplateBuilder {
    return new TemplateBuilder(this.#http, { snapshot });
  }

  /** Starts a build from its compiled form; it goes on by itself. */
  create(wanted: Sent<"POST /templates">, options: CallOptions = {}): Promise<TemplateRecord> {
    return createTemplate(this.#http, wanted, options);
  }

  /** The built-in templates, then the org's, newest first, all in one page. */
  list(options: CallOptions = {}): Pages<ListedTemplate> {
    return new Pages(async () => ({
      items: (await this.#http.call("GET /templates", options)).templates,
    }));
  }

  /** Reads a template. */
  get(id: string, options: CallOptions = {}): Promise<TemplateRecord> {
    return this.#http.call("GET /templates/:id", { ...options, params: { id } });
  }

  /** Waits until a build is over. Throws an `SvcError` with the step and its message when it failed. No limit unless `timeoutMs` says one. */
  wait(id: string, options: CallOptions = {}): Promise<TemplateRecord> {
    return within(options, async ({ signal }) => {
      for (;;) {
        const template = await this.get(id, { signal });
        if (template.state === "ready") return template;
        if (template.state === "failed") {
          const { step, message } = template.error ?? { step: 0, message: "no reason was told" };
          throw new SvcError(`Template ${id} failed at step ${step}: ${message}`);
        }
        await sleep(LOOK_MS, signal);
      }
    });
  }

  /** Reads a page of a build's log, from `offset` on. */
  logPage(
    id: string,
    offset = 0,
    options: CallOptions = {},
  ): Promise<Answered<"GET /templates/:id/logs">> {
    const request = { ...options, params: { id }, query: { offset } };
    return this.#http.call("GET /templates/:id/logs", request);
  }

  /** Follows a build's log to its end: each line once. */
  async *logs(
    id: string,
    { signal }: Pick<CallOptions, "signal"> = {},
  ): AsyncGenerator<TemplateLine, void> {
    for (let offset = 0; ;) {
      const { entries, nextOffset, state } = await this.logPage(id, offset, { signal });
      yield* entries;
      offset = nextOffset;
      if (entries.length > 0) continue;
      if (state !== "building") return;
      await sleep(LOOK_MS, signal ?? new AbortController().signal);
    }
  }

  /** Cancels a build; the template becomes `failed`. */
  cancel(id: string, options: CallOptions = {}): Promise<TemplateRecord> {
    return this.#http.call("POST /templates/:id/cancel", { ...options, params: { id } });
  }

  /** Deletes a template; machines made of it go on. `ConflictError` while it builds. */
  delete(id: string, options: CallOptions = {}): Promise<Answered<"DELETE /templates/:id">> {
    return this.#http.call("DELETE /templates/:id", { ...options, params: { id } });
  }
}
