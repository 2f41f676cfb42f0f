import { errorResponse, type Refusal, refusal } from "@svc/contract/errors.ts";
import type { VmPlaced, VmReport } from "@svc/contract/host-protocol/vms.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { Exec, ExecResult } from "@svc/contract/vm/exec.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";
import type { VmMetrics } from "@svc/contract/vm/metrics.ts";
import { DurableObject } from "cloudflare:workers";
import { atMost } from "./deadline.ts";
import type { HostNews } from "./host.ts";
import type { Subject } from "./host-client.ts";
import type { Place } from "./placement.ts";
import { type CreateSandboxOrder, createSandbox, type SandboxMade } from "./sandbox-create.ts";
import { perform } from "./sandbox-duties.ts";
import { SandboxStore } from "./sandbox-store.ts";
import { isOver, type SandboxView, type StoredSandbox, viewOf } from "./sandbox-view.ts";
import type { HostSource } from "./session-view.ts";
import type { Duty, SandboxEvent } from "./states/sandbox.ts";
import { endVm, execInVm, type HostAnswer, metricsOfVm } from "./vm-client.ts";

/** Where a machine is, and whose. */
export interface Located {
  url: string;
  org: string;
}

/** One sandbox or desktop: its state, its timers, and the way to its machine. */
export class SandboxDO extends DurableObject<Env> {
  readonly #store = new SandboxStore(this.ctx.storage);
  /** Duties being done now, so that none is done twice at once. */
  readonly #work = new Map<string, Promise<void>>();
  /** Calls to the machine that are under way: cut when it is known to be out of reach. */
  readonly #calls = new Set<AbortController>();

  async create(order: CreateSandboxOrder): Promise<SandboxMade | Refusal> {
    const { idleMs, lifecycle } = order;
    const { onTimeout } = lifecycle;
    const made = await createSandbox(this.env, order, {
      begin: (sandbox) => this.#begin(sandbox),
      read: () => this.#store.load(),
      placed: (place, { cpu, memMb, diskGb }: VmPlaced) =>
        this.#apply({ type: "placed", idleMs, onTimeout }, { place, cpu, memMb, diskGb }),
      giveBack: (place) => this.ctx.waitUntil(this.#giveBack(place, order)),
    });
    if (!("created" in made)) this.#apply({ type: "createFailed" });
    return made;
  }

  /** The sandbox as it is now; null when there is none. Reading it is activity. */
  read(): SandboxView | null {
    const sandbox = this.#use();
    return sandbox && viewOf(sandbox);
  }

  /** Ends the sandbox. Its reservation is free and its machine gone when this answers, if that is soon. */
  async delete(subject: Subject): Promise<void> {
    const sandbox = this.#apply({ type: "delete" });
    const done = sandbox
      ? Promise.all(this.#unfinished(sandbox).map((duty) => this.#do(duty)))
      : // Nothing is known of it: a reservation that dangles is freed all the same.
        this.env.ORGS.getByName(subject.org).dropSandbox(subject.id);
    // An org object or a host that hangs must not hold the answer: what is owed is repeated.
    await atMost(LIMITS.objectCallMs, done).catch(() => undefined);
  }

  /** Changes the idle window. Null when there is no live sandbox. */
  setIdle(idleMs: number): { expiresAt: number } | null {
    const sandbox = this.#apply({ type: "idleSet", idleMs });
    if (sandbox?.state.status === "starting") return { expiresAt: Date.now() + idleMs };
    if (sandbox?.state.status !== "running") return null;
    return { expiresAt: sandbox.state.expiresAt };
  }

  /** Runs a command to its end. A Response, so that long output needs no second copy on its way. */
  override async fetch(request: Request): Promise<Response> {
    const answer = await this.exec(await request.json<Exec>());
    return "refused" in answer ? errorResponse(answer.refused) : Response.json(answer.result);
  }

  async exec(body: Exec): Promise<{ result: ExecResult } | Refusal> {
    const sandbox = this.#use();
    const refused = notRunning(sandbox);
    if (!sandbox?.place || refused) return refused ?? noSandbox();
    const { url } = sandbox.place;
    const answer = await this.#call(sandbox, body.timeoutMs, (signal) =>
      execInVm(this.env, url, sandbox, body, signal),
    );
    if (answer.type === "ok") return { result: answer.value };
    if (answer.type === "missing") return refusal("NotRunning", "The machine has ended.");
    return unreachable();
  }

  /** Where its machine is, for a request that the Worker itself takes there. It counts as use. */
  locate(): Located | Refusal {
    const sandbox = this.#used();
    const refused = notRunning(sandbox);
    if (!sandbox?.place || refused) return refused ?? noSandbox();
    return { url: sandbox.place.url, org: sandbox.org };
  }

  /** The same for a preview. One that is refused is no use of the sandbox, and learns nothing of it. */
  visit(port: number, hasToken: boolean): Located | Refusal {
    const sandbox = this.#apply({ type: "tick" });
    if (!sandbox || isOver(sandbox)) return noSandbox();
    if (hasToken || sandbox.publicPorts?.includes(port)) return this.locate();
    return refusal("PreviewTokenRequired", "The token of this preview is missing or has expired.");
  }

  /** Opens a port to everyone or closes it; without a wish it says how it is. */
  publish(port: number, wish?: boolean): { isPublic: boolean } | Refusal {
    const sandbox = this.#apply({ type: "tick" });
    if (!sandbox || isOver(sandbox)) return noSandbox();
    const { publicPorts } = sandbox;
    const others = (publicPorts ?? []).filter((other) => other !== port);
    const isPublic = wish ?? publicPorts?.includes(port) ?? false;
    const wanted = isPublic ? [...others, port] : others;
    if (wanted.length !== publicPorts?.length)
      this.#store.save({ ...sandbox, publicPorts: wanted });
    return { isPublic };
  }

  /** What sort of sandbox it is while it is not over, else null. Asking is no use of it. */
  kind(): VmKind | null {
    const sandbox = this.#apply({ type: "tick" });
    return sandbox && !isOver(sandbox) ? sandbox.kind : null;
  }

  async metrics(): Promise<{ metrics: VmMetrics } | Refusal> {
    const sandbox = this.#apply({ type: "tick" });
    // A host that is away knows nothing of it: the document says 404.
    if (!sandbox?.place || notRunning(sandbox)) return noSandbox();
    const answer = await metricsOfVm(this.env, sandbox.place.url, sandbox);
    if (answer.type === "ok") return { metrics: answer.value };
    return answer.type === "failed" ? unreachable() : noSandbox();
  }

  /** What its host says of the machine. `end`: it must not hold it; `wait`: it is being created. */
  report(source: HostSource, vm: VmReport): "keep" | "wait" | "end" {
    const sandbox = this.#apply({ type: "tick" });
    if (sandbox?.state.status === "starting") return "wait";
    if (sandbox?.state.status !== "running" || !isAt(sandbox, source)) return "end";
    // A host that reports a machine is back, whoever else has noticed.
    this.#apply({ type: "hostBack" });
    const after = vm.ended
      ? this.#apply({ type: "hostEnded" })
      : this.#apply({ type: "activity", at: vm.lastActivityAt });
    return after?.state.status === "running" ? "keep" : "end";
  }

  /** Its host fell silent, came back, or came back without it. */
  hostChanged(source: HostSource, news: HostNews): void {
    const sandbox = this.#store.load();
    if (sandbox && isAt(sandbox, source)) this.#apply(news);
  }

  override async alarm(): Promise<void> {
    const sandbox = this.#apply({ type: "tick" });
    if (sandbox) await Promise.all(this.#unfinished(sandbox).map((duty) => this.#do(duty)));
    await this.#tidy();
  }

  /** Asks the machine for something that may take long, and keeps it in use meanwhile. */
  async #call<T>(
    { state }: StoredSandbox,
    budgetMs: number | undefined,
    work: (signal: AbortSignal) => Promise<HostAnswer<T>>,
  ): Promise<HostAnswer<T>> {
    const call = new AbortController();
    this.#calls.add(call);
    const idleMs = state.status === "running" ? state.idleMs : LIMITS.idleLeastMs;
    const pulse = setInterval(() => this.#use(), Math.min(idleMs / 2, LIMITS.heartbeatMs));
    const overdue =
      budgetMs === undefined
        ? undefined
        : setTimeout(
            () => call.abort(),
            Math.min(budgetMs + LIMITS.backgroundReleaseMs, 2 ** 31 - 1),
          );
    try {
      return await work(call.signal);
    } finally {
      clearInterval(pulse);
      clearTimeout(overdue);
      this.#calls.delete(call);
      this.#use();
    }
  }

  #use(): StoredSandbox | null {
    return this.#apply({ type: "activity", at: Date.now() });
  }

  /** Use that may come many times a second: noted when it moves the deadline by enough to matter. */
  #used(): StoredSandbox | null {
    const sandbox = this.#apply({ type: "tick" });
    if (sandbox?.state.status !== "running") return sandbox;
    const { expiresAt, idleMs } = sandbox.state;
    const stepMs = Math.min(idleMs / 4, LIMITS.idleLeastMs);
    return Date.now() - (expiresAt - idleMs) < stepMs ? sandbox : this.#use();
  }

  #begin(sandbox: StoredSandbox): void {
    this.#store.save(sandbox);
    // Set before anything is asked of anyone: it undoes a create that dies half way.
    this.ctx.waitUntil(this.#store.arm());
  }

  #apply(event: SandboxEvent, facts?: Partial<StoredSandbox>): StoredSandbox | null {
    const applied = this.#store.apply(event, Date.now(), facts);
    if (!applied) return null;
    const { sandbox, fresh } = applied;
    this.ctx.waitUntil(this.#store.arm());
    for (const duty of fresh) this.ctx.waitUntil(this.#do(duty));
    if (!isInReach(sandbox)) for (const call of this.#calls) call.abort();
    return sandbox;
  }

  /** What is still to be done: what is owed, and the machine while its host has not let go of it. */
  #unfinished({ owed, state }: StoredSandbox): Duty[] {
    return state.status === "releasing" ? [...owed, "machine"] : owed;
  }

  #do(duty: Duty): Promise<void> {
    const sandbox = this.#store.load();
    if (!sandbox) return Promise.resolve();
    const key = `${duty} ${sandbox.state.status}`;
    const work = this.#work.get(key) ?? this.#attempt(sandbox, duty);
    this.#work.set(key, work);
    return work.finally(() => this.#work.delete(key));
  }

  async #attempt(sandbox: StoredSandbox, duty: Duty): Promise<void> {
    try {
      const outcome = await perform(this.env, sandbox, duty);
      if (duty !== "machine") this.#store.done(duty, sandbox);
      if (outcome) this.#apply(outcome);
    } catch (error) {
      const entry = { level: "error", event: "duty_failed", duty, error: String(error) };
      console.error(JSON.stringify(entry));
      if (duty !== "machine") this.#store.retryLater(Date.now());
    }
    await this.#tidy();
  }

  async #giveBack(place: Place, subject: Subject): Promise<void> {
    await endVm(this.env, place.url, subject).catch(() => undefined);
  }

  async #tidy(): Promise<void> {
    if (this.#store.isDue(Date.now())) await this.#store.erase();
    else await this.#store.arm();
  }
}

const isAt = ({ place }: StoredSandbox, { hostId, bootId }: HostSource): boolean =>
  place?.hostId === hostId && place.bootId === bootId;

const isInReach = ({ state }: StoredSandbox): boolean =>
  state.status === "running" && state.awaySince === null;

const noSandbox = (): Refusal => refusal("NotFound", "There is no such sandbox.");

const unreachable = (): Refusal =>
  refusal("HostUnreachable", "The machine cannot be reached. Try again.");

/** Why nothing can be run in it; null when something can. */
function notRunning(sandbox: StoredSandbox | null): Refusal | null {
  switch (sandbox?.state.status) {
    case undefined:
    case "releasing":
    case "gone":
    case "failed":
      return noSandbox();
    case "running":
      return sandbox.state.awaySince === null ? null : unreachable();
    case "starting":
      return refusal("NotRunning", "The sandbox is still starting.");
  }
}
