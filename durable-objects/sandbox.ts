import type { Refusal } from "@svc/contract/errors.ts";
import type { VmReport } from "@svc/contract/host-protocol/vms.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { Exec } from "@svc/contract/vm/exec.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";
import type { VmMetrics } from "@svc/contract/vm/metrics.ts";
import { DurableObject } from "cloudflare:workers";
import { dropChild } from "../control-plane/snapshot-lineage.ts";
import type { Snapshot } from "../control-plane/snapshots.ts";
import { type HostStart, isAt } from "./host-calls/place.ts";
import type { Subject } from "./host-calls/slots.ts";
import type { Beat, HostChange, ReportAnswer } from "./host/messages.ts";
import { atMost } from "./live/deadline.ts";
import { tried } from "./live/tried.ts";
import { Lane } from "./live/lane.ts";
import { LiveRecord } from "./live/live-record.ts";
import { type TurnAnswer, Turns } from "./live/turns.ts";
import type { SandboxView } from "./org/messages.ts";
import type { Admission } from "./sandbox/admission.ts";
import { type CreateSandboxOrder, createSandbox, type SandboxMade } from "./sandbox/create.ts";
import { exec } from "./sandbox/exec.ts";
import { type Located, locate, publish, visit } from "./sandbox/locate.ts";
import { MachineCalls } from "./sandbox/machine-calls.ts";
import { metrics } from "./sandbox/metrics.ts";
import { pause } from "./sandbox/pause.ts";
import { perform } from "./sandbox/perform.ts";
import { isInReach, isOver, type LiveSandbox, viewOf } from "./sandbox/record.ts";
import type { ResumeFirst } from "./sandbox/refusals.ts";
import { meaningOf } from "./sandbox/reports.ts";
import { resume } from "./sandbox/resume.ts";
import { revert, type RevertOrder } from "./sandbox/revert.ts";
import { snapshot, type SnapshotOrder } from "./sandbox/snapshot.ts";
import { isSameRecord, SANDBOX_TABLE } from "./sandbox/table.ts";
import { look } from "./sandbox/use.ts";

/** One sandbox or desktop: its state, its timers, and the way to its machine. */
export class SandboxDO extends DurableObject<Env> {
  readonly #record: LiveSandbox["record"] = new LiveRecord(this.ctx, SANDBOX_TABLE, {
    perform: (sandbox, duty) => perform(this.#live, sandbox, duty),
    onChange: (_before, after) => {
      if (!isInReach(after)) this.#live.calls.cut();
    },
  });
  readonly #live: LiveSandbox = {
    env: this.env,
    record: this.#record,
    lane: new Lane(),
    calls: new MachineCalls(),
  };

  readonly #turns = new Turns(LIMITS.turnsWaiting);

  create(order: CreateSandboxOrder): Promise<SandboxMade | Refusal> {
    return createSandbox(this.#live, order);
  }

  /** The sandbox as it is now; null when there is none. Reading it is a use, and wakes nothing. */
  read(): SandboxView | null {
    const sandbox = look(this.#live);
    return sandbox && viewOf(sandbox);
  }

  /** The sandbox as it is now. Looking is no use of it. */
  look(): SandboxView | null {
    const sandbox = this.#record.tick();
    return sandbox && viewOf(sandbox);
  }

  /** Whether it is a sandbox or a desktop while it is not over, else null. Asking is no use of it. */
  kind(): VmKind | null {
    const sandbox = this.#record.tick();
    return sandbox && !isOver(sandbox) ? sandbox.kind : null;
  }

  /** The record that it can go on from; null when there is none, or the sandbox is over. */
  recordId(): string | null {
    const sandbox = this.#record.load();
    return sandbox && !isOver(sandbox) ? (sandbox.record?.id ?? null) : null;
  }

  /** Ends the sandbox. Its reservation is free and its machine gone when this answers, if that is soon. */
  async delete({ id, org }: Subject): Promise<void> {
    const done = this.#record.apply({ type: "delete" })
      ? this.#record.settle()
      : // Nothing is known of it: a reservation that dangles is freed all the same.
        Promise.all([this.env.ORGS.getByName(org).dropSandbox(id), dropChild(this.env.DB, id)]);
    // An org object or a host that hangs must not hold the answer: what is owed is repeated.
    await tried("end_not_settled_yet", atMost(LIMITS.objectCallMs, done));
  }

  /** Changes the idle window. Null when there is no live sandbox. */
  setIdle(idleMs: number): { expiresAt: number } | null {
    const sandbox = this.#record.apply({ type: "idleSet", idleMs });
    if (sandbox?.state.status === "starting") return { expiresAt: Date.now() + idleMs };
    const view = sandbox && viewOf(sandbox);
    return view && view.goneAt === null ? { expiresAt: view.expiresAt } : null;
  }

  pause(): Promise<{ paused: true } | Refusal> {
    return pause(this.#live);
  }

  resume(admission: Admission): Promise<{ resumed: true } | Refusal> {
    return resume(this.#live, admission);
  }

  snapshot(order: SnapshotOrder): Promise<{ snapshot: Snapshot } | Refusal> {
    return snapshot(this.#live, order);
  }

  revert(order: RevertOrder): Promise<{ reverted: true } | Refusal> {
    return revert(this.#live, order);
  }

  /** Runs a command to its end. A Response, so that long output needs no second copy: not ok, its body is the refusal. */
  override async fetch(request: Request): Promise<Response> {
    const answer = await exec(this.#live, await request.json<Exec>(), request.signal);
    if ("result" in answer) return Response.json(answer.result);
    return Response.json(answer, { status: 409 });
  }

  locate(): Promise<Located | Refusal | ResumeFirst> {
    return locate(this.#live);
  }

  visit(port: number, hasToken: boolean): Promise<Located | Refusal | ResumeFirst> {
    return visit(this.#live, port, hasToken);
  }

  publish(port: number, wanted?: boolean): { isPublic: boolean } | Refusal {
    return publish(this.#live, port, wanted);
  }

  metrics(): Promise<{ metrics: VmMetrics } | Refusal> {
    return metrics(this.#live);
  }

  /** Waits for the turn of a tool's call. */
  takeTurn(id: string, lastsMs: number): Promise<TurnAnswer> {
    return this.#turns.take(id, lastsMs);
  }

  /** Ends the turn of a tool's call that is over, or that waits no longer. */
  endTurn(id: string): void {
    this.#turns.end(id);
  }

  /** What its host reports of the machine. */
  report(beat: Beat, vm: VmReport): ReportAnswer {
    const meaning = meaningOf(this.#record.tick(), beat, vm);
    if (meaning === "end") return "end";
    if (meaning === "wait" || this.#live.lane.isBusy) return "wait";
    const before = this.#record.load();
    for (const event of meaning.events) this.#record.apply(event, meaning.facts);
    const after = this.#record.load();
    // A record that is replaced while the sandbox stays paused is no change of its state.
    if (before && after && !isSameRecord(before, after)) this.#writeIndex();
    const status = after?.state.status;
    return status === "running" || status === "paused" ? "keep" : "end";
  }

  /** Its host fell silent, came back, or came back without the machine. */
  hostChanged(start: HostStart, change: HostChange): void {
    const sandbox = this.#record.load();
    if (!sandbox || !isAt(sandbox.place, start)) return;
    if (change.type === "hostLost" && this.#live.lane.isBusy) this.#askHostLater();
    else this.#record.apply(change);
  }

  #writeIndex(): void {
    this.#record.owe("index", Date.now() + LIMITS.objectCallMs);
    this.#record.later(this.#record.do("index"));
  }

  /** The machine is being changed at its host: whether it is lost, the host's object says once that is over. */
  #askHostLater(): void {
    this.#record.owe("host", Date.now() + LIMITS.heartbeatMs);
    this.#record.later(this.#record.do("host"));
  }

  override alarm(): Promise<void> {
    return this.#record.rang();
  }
}
