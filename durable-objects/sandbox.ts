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
import { Lane, MachineCalls } from "./sandbox-calls.ts";
import { type CreateSandboxOrder, createSandbox, type SandboxMade } from "./sandbox-create.ts";
import { perform } from "./sandbox-duties.ts";
import {
  type Admission,
  type Asleep,
  asleepOrNotRunning,
  type Change,
  notRunning,
  noSandbox,
  pause,
  resume,
  unreachable,
} from "./sandbox-sleep.ts";
import { type Beat, isAt, meaningOf } from "./sandbox-reports.ts";
import { SandboxStore } from "./sandbox-store.ts";
import { isInReach, isOver, type SandboxView, type StoredSandbox, viewOf } from "./sandbox-view.ts";
import type { HostSource } from "./session-view.ts";
import type { SandboxEvent } from "./states/sandbox.ts";
import { type Duty, wantsPause } from "./states/sandbox-duties.ts";
import { endVm, execInVm, metricsOfVm } from "./vm-client.ts";

/** On a 409: the sandbox is paused and wants to be resumed by whatever needs it. */
export const ASLEEP = "svc-asleep";

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
  readonly #calls = new MachineCalls();
  /** Pauses and resumes go one after the other: a resume waits for the pause before it. */
  readonly #lane = new Lane();

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
    const view = sandbox && viewOf(sandbox);
    return view && view.goneAt === null ? { expiresAt: view.expiresAt } : null;
  }

  /** Saves RAM and disk and frees its place; of one that is paused it is that. */
  pause(): Promise<{ paused: true } | Refusal> {
    return this.#lane.run(async () => {
      const sandbox = this.#apply({ type: "tick" });
      if (sandbox?.state.status !== "paused") {
        const change = await pause(this.env, sandbox);
        const refused = await this.#change(change);
        if (refused) return refused;
      }
      return { paused: true };
    });
  }

  /** Lets it run on, when it is paused and its org has a place for it. */
  resume(admission: Admission): Promise<{ resumed: true } | Refusal> {
    return this.#lane.run(async () => {
      const change = await resume(this.env, this.#apply({ type: "tick" }), admission);
      const refused = await this.#change(change);
      // The place that it took is free again.
      if (refused) await this.#do("index");
      return refused ?? { resumed: true };
    });
  }

  /** Runs a command to its end. A Response, so that long output needs no second copy on its way. */
  override async fetch(request: Request): Promise<Response> {
    const answer = await this.exec(await request.json<Exec>());
    if ("result" in answer) return Response.json(answer.result);
    const response = errorResponse(answer.refused);
    const sandbox = this.#store.load();
    if (sandbox?.state.status === "paused" && sandbox.autoResume) response.headers.set(ASLEEP, "1");
    return response;
  }

  async exec(body: Exec): Promise<{ result: ExecResult } | Refusal> {
    // What comes while it is being paused finds it paused.
    await this.#lane.settled();
    const sandbox = this.#use();
    const refused = notRunning(sandbox);
    if (!sandbox?.place || refused) return refused ?? noSandbox();
    const { url } = sandbox.place;
    const { state } = sandbox;
    const idleMs = state.status === "running" ? state.idleMs : LIMITS.idleLeastMs;
    const answer = await this.#calls.run(
      { idleMs, budgetMs: body.timeoutMs },
      () => this.#use(),
      (signal) => execInVm(this.env, url, sandbox, body, signal),
    );
    if (answer.type === "ok") return { result: answer.value };
    if (answer.type === "missing") return refusal("NotRunning", "The machine has ended.");
    const after = this.#store.load();
    return after?.state.status === "paused" ? (notRunning(after) ?? unreachable()) : unreachable();
  }

  /** Where its machine is, for a request that the Worker itself takes there. It counts as use. */
  async locate(): Promise<Located | Refusal | Asleep> {
    await this.#lane.settled();
    const sandbox = this.#used();
    const refused = asleepOrNotRunning(sandbox);
    if (!sandbox?.place || refused) return refused ?? noSandbox();
    return { url: sandbox.place.url, org: sandbox.org };
  }

  /** The same for a preview. One that is refused is no use of the sandbox, and learns nothing of it. */
  async visit(port: number, hasToken: boolean): Promise<Located | Refusal | Asleep> {
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

  /** What its host says of the machine. `end`: it must not hold it; `wait`: ask again with the next heartbeat. */
  report(beat: Beat, vm: VmReport): "keep" | "wait" | "end" {
    const sandbox = this.#apply({ type: "tick" });
    const meaning = meaningOf(sandbox, beat, vm);
    if (meaning === "end") return "end";
    if (meaning === "wait" || this.#lane.isBusy) return "wait";
    for (const event of meaning.events) this.#apply(event, meaning.facts);
    const status = this.#store.load()?.state.status;
    return status === "running" || status === "paused" ? "keep" : "end";
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

  /** Applies a change that the host has made, and has the org's list know it; or says why there is none. */
  async #change(change: Change): Promise<Refusal | null> {
    if ("refused" in change) return change;
    this.#apply(change.event, change.facts);
    await atMost(LIMITS.objectCallMs, this.#do("index")).catch(() => undefined);
    return null;
  }

  /** Pauses it because its idle window is over, unless it was used meanwhile. */
  #pauseIdle(): Promise<void> {
    return this.#lane.run(async () => {
      const sandbox = this.#apply({ type: "tick" });
      if (!sandbox || !wantsPause(sandbox.state)) return;
      const refused = await this.#change(await pause(this.env, sandbox));
      // A host that cannot will not learn it: the machine is kept for a while.
      if (refused && refused.refused.code !== "HostCapabilityMissing")
        throw new Error(refused.refused.message);
    });
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
    if (!isInReach(sandbox)) this.#calls.cut();
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
      const outcome =
        duty === "pause" ? await this.#pauseIdle() : await perform(this.env, sandbox, duty);
      if (duty !== "machine") this.#store.done(duty, sandbox);
      if (outcome) this.#apply(outcome);
    } catch (error) {
      const entry = { level: "error", event: "duty_failed", duty, error: String(error) };
      console.error(JSON.stringify(entry));
      if (duty !== "machine") this.#store.retryLater(Date.now(), duty);
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
