import type { CallOptions } from "./http/deadline.ts";
import type { Answered, Loose, Sent } from "@svc/contract/operations/routes.ts";
import type { HttpClient } from "./http/client.ts";

type Wanted = Sent<"POST /templates">;
/** A custom template. */
export type TemplateRecord = Answered<"POST /templates">;
/** A step of a build. */
export type TemplateStep = Wanted["compiled"]["steps"][number];
/** A server that runs when the template is saved, and how to tell that it is ready: one of `port`, `url`, `cmd`. */
export type TemplateReady = NonNullable<NonNullable<Wanted["compiled"]["start"]>["ready"]>;

/** Describes a template step by step. Each method answers a new builder: one may be the beginning of many. */
export class TemplateBuilder {
  readonly #http: HttpClient;
  readonly #compiled: Wanted["compiled"];

  constructor(http: HttpClient, from: Wanted["compiled"]["from"], rest: object = {}) {
    this.#http = http;
    this.#compiled = { from, steps: [], ...rest };
  }

  /** Installs packages of Debian. */
  apt(...packages: string[]): TemplateBuilder {
    return this.step({ type: "apt", packages });
  }

  /** Installs packages of Python. */
  pip(...packages: string[]): TemplateBuilder {
    return this.step({ type: "pip", packages });
  }

  /** Installs packages of Node: for all programs with `global`, else in the working directory. */
  npm(packages: string[], { global }: { global?: boolean } = {}): TemplateBuilder {
    return this.#add({ type: "npm", packages, global });
  }

  /** Runs a line of bash. */
  run(cmd: string, { user }: { user?: string } = {}): TemplateBuilder {
    return this.#add({ type: "run", cmd, user });
  }

  /** Sets variables for the steps that follow and for all commands of machines made of the template. */
  env(envs: Readonly<Record<string, string>>): TemplateBuilder {
    return this.step({ type: "env", envs });
  }

  /** Sets the working directory. */
  workdir(path: string): TemplateBuilder {
    return this.step({ type: "workdir", path });
  }

  /** Sets the user of what follows. */
  user(name: string): TemplateBuilder {
    return this.step({ type: "user", name });
  }

  /** Writes a file; `mode` as `chmod` takes it, in octal: `"0755"`. */
  write(
    path: string,
    content: string,
    how: { encoding?: "utf8" | "base64"; mode?: number | string } = {},
  ): TemplateBuilder {
    return this.step({ type: "write", path, content, ...how });
  }

  /** Clones a repository. */
  git(url: string, path: string, { ref }: { ref?: string } = {}): TemplateBuilder {
    return this.#add({ type: "git", url, path, ref });
  }

  /** Adds any step. */
  step(step: TemplateStep): TemplateBuilder {
    return this.#with({ steps: [...this.#compiled.steps, step] });
  }

  /** Lets a server run in the template: machines made of it answer at once. */
  start(cmd: string, ready?: TemplateReady): TemplateBuilder {
    return this.#with({ start: { cmd, ...(ready && { ready }) } });
  }

  /** The compiled form, as POST /templates takes it. */
  compile(): Wanted["compiled"] {
    return this.#compiled;
  }

  /** Starts the build. `templates.wait(id)` waits for it, `templates.logs(id)` follows it. */
  build(
    { name, ...size }: Omit<Wanted, "compiled">,
    options: CallOptions = {},
  ): Promise<TemplateRecord> {
    return createTemplate(this.#http, { name, ...size, compiled: this.#compiled }, options);
  }

  /** Options that are undefined do not reach the JSON. */
  #add(step: Loose<Extract<TemplateStep, { type: "npm" | "run" | "git" }>>): TemplateBuilder {
    return this.step(step as TemplateStep);
  }

  #with(part: Partial<Wanted["compiled"]>): TemplateBuilder {
    return new TemplateBuilder(this.#http, this.#compiled.from, {
      ...this.#compiled,
      ...part,
    });
  }
}

/** Starts a build from its compiled form. */
export function createTemplate(
  http: HttpClient,
  wanted: Wanted,
  options: CallOptions,
): Promise<TemplateRecord> {
  return http.call("POST /templates", { ...options, body: wanted, creates: true, isLong: true });
}
