import { errorResponse, type Refusal } from "@svc/contract/errors.ts";
import type { VmPlaced, VmReport } from "@svc/contract/host-protocol/vms.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { Exec } from "@svc/contract/vm/exec.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";
import type { VmMetrics } from "@svc/contract/vm/metrics.ts";
import { DurableObject } from "cloudflare:workers";
import { dropChild } from "../control-plane/snapshot-lineage.ts";
import type { Snapshot } from "../control-plane/snapshots.ts";
import { atMost } from "./live/deadline.ts";
import type { HostNews } from "./host.ts";
import type { Subject } from "./host-calls/slots.ts";
import type { Place } from "./session/find-slot.ts";
import { SandboxActs } from "./sandbox/machine-change.ts";
import { type CreateSandboxOrder, createSandbox, type SandboxMade } from "./sandbox/create.ts";
import { SandboxLife } from "./live/live-record.ts";
import { type Beat, isAt, meaningOf } from "./sandbox/reports.ts";
import type { Admission, Asleep } from "./sandbox/pause.ts";
import type { RevertOrder, SnapshotOrder } from "./sandbox/snapshot.ts";
import { type Located, SandboxUses } from "./sandbox/exec.ts";
import { isOver, type SandboxView, viewOf } from "./sandbox/record.ts";
import type { HostSource } from "./session/view.ts";
import { endVm } from "./host-calls/vms.ts";

/** On a 409: the sandbox is paused and wants to be resumed by whatever needs it. */
export const ASLEEP = "svc-asleep";

/** One sandbox or desktop: its state, its timers, and the way to its machine. */
export class SandboxDO extends DurableObject<Env> {
  readonly #life = new SandboxLife(this.ctx, this.env, (act) => this.#acts.owed(act));
  readonly #acts = new SandboxActs(this.env, this.#life);
  readonly #uses = new SandboxUses(this.env, this.#life);

  async create(order: CreateSandboxOrder): Promise<SandboxMade | Refusal> {
    const { idleMs, lifecycle } = order;
    const { onTimeout, autoResume: _fact, parkMaxMs: _other, ...habits } = lifecycle;
    const made = await createSandbox(this.env, order, {
      begin: (sandbox) => this.#life.store.begin(sandbox),
      keep: () => this.#life.store.keep(Date.now()),
      read: () => this.#life.load(),
      placed: (place, { cpu, memMb, diskGb }: VmPlaced) =>
        this.#life.apply(
          { type: "placed", idleMs, onTimeout, habits },
          { place, cpu, memMb, diskGb },
        ),
      giveBack: (place) => this.#life.later(this.#giveBack(place, order)),
    });
    if (!("created" in made)) this.#life.apply({ type: "createFailed" });
    return made;
  }

  /** The sandbox as it is now; null when there is none. Reading it is activity. */
  read(): SandboxView | null {
    const sandbox = this.#life.use();
    return sandbox && viewOf(sandbox);
  }

  /** Ends the sandbox. Its reservation is free and its machine gone when this answers, if that is soon. */
  async delete(subject: Subject): Promise<void> {
    const sandbox = this.#life.apply({ type: "delete" });
    const done = sandbox
      ? this.#life.settle(sandbox)
      : // Nothing is known of it: a reservation that dangles is freed all the same.
        Promise.all([
          this.env.ORGS.getByName(subject.org).dropSandbox(subject.id),
          dropChild(this.env.DB, subject.id),
        ]);
    // An org object or a host that hangs must not hold the answer: what is owed is repeated.
    await atMost(LIMITS.objectCallMs, done).catch(() => undefined);
  }

  /** Changes the idle window. Null when there is no live sandbox. */
  setIdle(idleMs: number): { expiresAt: number } | null {
    const sandbox = this.#life.apply({ type: "idleSet", idleMs });
    if (sandbox?.state.status === "starting") return { expiresAt: Date.now() + idleMs };
    const view = sandbox && viewOf(sandbox);
    return view && view.goneAt === null ? { expiresAt: view.expiresAt } : null;
  }

  pause(): Promise<{ paused: true } | Refusal> {
    return this.#acts.pause();
  }

  resume(admission: Admission): Promise<{ resumed: true } | Refusal> {
    return this.#acts.resume(admission);
  }

  /** Keeps it as it is at this moment, running or paused. */
  snapshot(order: SnapshotOrder): Promise<{ snapshot: Snapshot } | Refusal> {
    return this.#acts.snapshot(order);
  }

  /** Lets it go on from a snapshot of its own. */
  revert(order: RevertOrder): Promise<{ reverted: true } | Refusal> {
    return this.#acts.revert(order);
  }

  /** Runs a command to its end. A Response, so that long output needs no second copy on its way. */
  override async fetch(request: Request): Promise<Response> {
    const answer = await this.#uses.exec(await request.json<Exec>(), request.signal);
    if ("result" in answer) return Response.json(answer.result);
    const response = errorResponse(answer.refused);
    const sandbox = this.#life.load();
    if (sandbox?.state.status === "paused" && sandbox.autoResume) response.headers.set(ASLEEP, "1");
    return response;
  }

  locate(): Promise<Located | Refusal | Asleep> {
    return this.#uses.locate();
  }

  visit(port: number, hasToken: boolean): Promise<Located | Refusal | Asleep> {
    return this.#uses.visit(port, hasToken);
  }

  publish(port: number, wish?: boolean): { isPublic: boolean } | Refusal {
    return this.#uses.publish(port, wish);
  }

  /** The sandbox as it is now. Asking is no use of it. */
  look(): SandboxView | null {
    const sandbox = this.#life.tick();
    return sandbox && viewOf(sandbox);
  }

  /** What sort of sandbox it is while it is not over, else null. Asking is no use of it. */
  kind(): VmKind | null {
    const sandbox = this.#life.tick();
    return sandbox && !isOver(sandbox) ? sandbox.kind : null;
  }

  /** The record that it can go on from; null when there is none, or it is over. */
  recordId(): string | null {
    const sandbox = this.#life.load();
    return sandbox && !isOver(sandbox) ? (sandbox.record?.id ?? null) : null;
  }

  metrics(): Promise<{ metrics: VmMetrics } | Refusal> {
    return this.#uses.metrics();
  }

  /** What its host says of the machine. `end`: it must not hold it; `wait`: ask again with the next heartbeat. */
  report(beat: Beat, vm: VmReport): "keep" | "wait" | "end" {
    const sandbox = this.#life.tick();
    const meaning = meaningOf(sandbox, beat, vm);
    if (meaning === "end") return "end";
    if (meaning === "wait" || this.#life.lane.isBusy) return "wait";
    for (const event of meaning.events) this.#life.apply(event, meaning.facts);
    const status = this.#life.load()?.state.status;
    return status === "running" || status === "paused" ? "keep" : "end";
  }

  /** Its host fell silent, came back, or came back without it. */
  hostChanged(source: HostSource, news: HostNews): void {
    const sandbox = this.#life.load();
    if (!sandbox || !isAt(sandbox, source)) return;
    // It is being changed there: whether it is lost is asked once that is over.
    if (news.type === "hostLost" && this.#life.lane.isBusy) this.#life.askHost();
    else this.#life.apply(news);
  }

  override async alarm(): Promise<void> {
    this.#life.store.rang();
    const sandbox = this.#life.tick();
    if (sandbox) await this.#life.settle(sandbox);
    await this.#life.tidy();
  }

  async #giveBack(place: Place, subject: Subject): Promise<void> {
    await endVm(this.env, place.url, subject).catch(() => undefined);
  }
}
