import type { ServerResponse } from "node:http";
import {
  RestVm,
  ResumeVm,
  RevertVm,
  SnapshotTaken,
  StateRefused,
  TakeSnapshot,
  VmCheckpointed,
  VmEnded,
  VmParked,
  VmPaused,
  VmResumed,
} from "@svc/contract/host-protocol/vm-states.ts";
import * as z from "zod";
import { FAKE_PLATFORM } from "./platform.ts";
import { send } from "./pool.ts";

/** How a fake VM host changes the state of a machine. `lost`: done, but the answer is lost. */
export const FakeStatesMode = {
  /** `unable`: it has not the capability. */
  pause: z.enum(["ok", "unable", "fault", "missing", "hang", "lost"]).default("ok"),
  resume: z.enum(["ok", "full", "small", "foreign", "missing", "fault", "lost"]).default("ok"),
  snapshot: z.enum(["ok", "unable", "fault", "missing", "hang", "lost"]).default("ok"),
  /** `slow`: once it is steered again. */
  revert: z.enum(["ok", "foreign", "full", "fault", "lost", "slow"]).default("ok"),
  park: z.enum(["ok", "missing", "hang"]).default("ok"),
  end: z.enum(["ok", "fault", "hang", "lost"]).default("ok"),
  /** Whether its machines are in use, as it counts: then it rests none unless the customer asks. */
  use: z.enum(["none", "now"]).default("none"),
  checkpoint: z.enum(["ok", "fault", "lost"]).default("ok"),
  removeSnapshot: z.enum(["ok", "fault", "drop"]).default("ok"),
  /** Whether what it saves is in the object store at once. */
  store: z.enum(["no", "yes"]).default("no"),
  /** Size of what it saves: of a paused machine or a checkpoint, and of a snapshot. */
  recordBytes: z.int().default(1),
  snapshotBytes: z.int().default(5000),
};
type Mode = z.infer<z.ZodObject<typeof FakeStatesMode>>;

type Refusal = [number, StateRefused["code"]];
const REFUSALS: Record<string, Refusal> = {
  unable: [409, "HostCapabilityMissing"],
  full: [503, "NoCapacity"],
  small: [507, "InsufficientCapacity"],
  foreign: [409, "SnapshotNotRestorable"],
};
/** What differs from act to act. */
const FAULTS: Record<string, { fault: Refusal; missing: Refusal }> = {
  pause: { fault: [503, "SnapshotFailed"], missing: [404, "NotRunning"] },
  resume: { fault: [503, "ResumeFailed"], missing: [404, "NotPaused"] },
  snapshot: { fault: [503, "SnapshotFailed"], missing: [404, "NotRunning"] },
  revert: { fault: [503, "ResumeFailed"], missing: [404, "UnknownSnapshot"] },
  park: { fault: [503, "SnapshotFailed"], missing: [404, "NotRunning"] },
  end: { fault: [503, "SnapshotFailed"], missing: [404, "NotRunning"] },
  checkpoint: { fault: [503, "SnapshotFailed"], missing: [404, "NotRunning"] },
};

/** The object store that all fake hosts of a process have in common: names of records and snapshots. */
const STORE = new Set<string>();

const SIZE = { cpu: 2, memMb: 2048, diskGb: 4 };

/** What a host holds, and where its answers stand among its heartbeats. */
interface Held {
  mode: Mode;
  readonly bootId: string;
  readonly vms: Set<string>;
  nextSeq(): number;
}

/** Pause, resume, snapshot, revert, park and checkpoint of a fake VM host. */
export class FakeVmStates {
  /** Machines that it has saved, and the record of each. */
  readonly paused = new Map<string, string>();
  readonly parked = new Set<string>();
  readonly snapshots = new Set<string>();
  readonly checkpoints = new Map<string, string>();
  readonly #held: Held;
  #records = 0;
  readonly #slow: (() => void)[] = [];

  constructor(held: Held) {
    this.#held = held;
  }

  isAct = (act: string): boolean => Object.hasOwn(FAULTS, act);

  /** POST /vms/:id/:act */
  answer(act: string, id: string, text: string, response: ServerResponse): void {
    const mode = this.#modeOf(act);
    if (mode === "hang") return;
    if (mode === "slow")
      return void this.#slow.push(() => this.#act(act, "ok", id, text, response));
    this.#act(act, mode, id, text, response);
  }

  /** What was slow is done now. */
  goOn(): void {
    for (const act of this.#slow.splice(0)) act();
  }

  #act(act: string, mode: string, id: string, text: string, response: ServerResponse): void {
    const isRest = ["pause", "park", "end"].includes(act);
    const { unusedMs } = RestVm.parse(isRest && text !== "" ? JSON.parse(text) : {});
    if (this.#held.mode.use === "now" && unusedMs !== undefined)
      return refuse(response, [409, "Busy"], { unusedMs: 0 });
    const refused = REFUSALS[mode] ?? this.#refusalOf(act, mode, id, text);
    if (refused) return refuse(response, refused);
    const [status, body] = this.#do(act, id, text);
    if (mode === "lost") return void response.destroy();
    send(response, status, JSON.stringify(body));
  }

  remove(id: string, response: ServerResponse): void {
    const { removeSnapshot } = this.#held.mode;
    if (removeSnapshot === "drop") return void response.destroy();
    if (removeSnapshot === "fault") return send(response, 500, "a bug");
    this.snapshots.delete(id);
    STORE.delete(id);
    send(response, 204, "");
  }

  /** Whether a fork of a snapshot can be made here. */
  hasSnapshot = (id: string): boolean => this.snapshots.has(id) || STORE.has(id);

  forget(id: string): void {
    this.parked.delete(id);
    this.checkpoints.delete(id);
    this.paused.delete(id);
  }

  /** The machine is used: a parked one goes on. */
  wake(id: string): void {
    this.parked.delete(id);
  }

  #modeOf(act: string): string {
    return z.string().parse(Object.entries(this.#held.mode).find(([name]) => name === act)?.[1]);
  }

  #refusalOf(act: string, mode: string, id: string, text: string): Refusal | null {
    const faults = FAULTS[act];
    if (!faults) return [404, "NotRunning"];
    if (mode === "fault" || mode === "missing") return faults[mode];
    const { vms } = this.#held;
    const isRunning = vms.has(id);
    const isPaused = this.paused.has(id);
    if (act === "resume") return isRunning ? [409, "NotPaused"] : this.#whyNoResume(id, text);
    if (act === "revert" && !this.hasSnapshot(RevertVm.parse(JSON.parse(text)).snapshotId))
      return faults.missing;
    const mayRest = act === "pause" || act === "snapshot" || act === "revert";
    return isRunning || (mayRest && isPaused) ? null : [404, "NotRunning"];
  }

  #whyNoResume(id: string, text: string): Refusal | null {
    const { recordId } = ResumeVm.parse(text === "" ? {} : JSON.parse(text));
    const here = this.paused.get(id);
    if (recordId === undefined) return here === undefined ? [404, "NotPaused"] : null;
    return here === recordId || STORE.has(recordId) ? null : [409, "NotPaused"];
  }

  #do(act: string, id: string, text: string): [number, object] {
    switch (act) {
      case "pause":
        return this.#pause(id);
      case "snapshot":
        return this.#snapshot(text);
      case "park":
        this.parked.add(id);
        return [200, VmParked.parse({ state: "running", parked: true, ...this.#stamp() })];
      case "end":
        this.forget(id);
        this.#held.vms.delete(id);
        return [200, VmEnded.parse({ state: "ended" })];
      case "checkpoint":
        return this.#checkpoint(id);
      default:
        return this.#run(id);
    }
  }

  #pause(id: string): [number, object] {
    const recordId = this.paused.get(id) ?? this.#newRecord();
    this.#held.vms.delete(id);
    this.parked.delete(id);
    this.checkpoints.delete(id);
    this.paused.set(id, recordId);
    const saved = {
      state: "paused",
      sizeBytes: this.#held.mode.recordBytes,
      tookMs: 1,
      ...this.#stored(recordId),
    };
    return [200, VmPaused.parse({ ...saved, ...this.#stamp() })];
  }

  #checkpoint(id: string): [number, object] {
    const recordId = this.#newRecord();
    this.checkpoints.set(id, recordId);
    const saved = {
      sizeBytes: this.#held.mode.recordBytes,
      stoppedMs: 1,
      ...this.#stored(recordId),
    };
    return [200, VmCheckpointed.parse({ ...saved, ...this.#stamp() })];
  }

  #snapshot(text: string): [number, object] {
    const { snapshotId } = TakeSnapshot.parse(JSON.parse(text));
    this.snapshots.add(snapshotId);
    const { store, snapshotBytes: sizeBytes } = this.#held.mode;
    const isStored = store === "yes";
    if (isStored) STORE.add(snapshotId);
    const facts = { sizeBytes, ...SIZE, platform: FAKE_PLATFORM, stoppedMs: 1 };
    return [201, SnapshotTaken.parse({ snapshotId, durable: isStored, ...facts })];
  }

  #run(id: string): [number, object] {
    this.forget(id);
    this.#held.vms.add(id);
    const got = { ...SIZE, isolation: "dedicated", tookMs: 1 };
    return [200, VmResumed.parse({ state: "running", ...got, ...this.#stamp() })];
  }

  #newRecord(): string {
    this.#records += 1;
    const recordId = `rec_${this.#held.bootId}_${this.#records}`;
    if (this.#held.mode.store === "yes") STORE.add(recordId);
    return recordId;
  }

  #stored = (recordId: string) => ({ recordId, durable: STORE.has(recordId) });

  #stamp = () => ({ bootId: this.#held.bootId, seq: this.#held.nextSeq() });
}

function refuse(response: ServerResponse, [status, code]: Refusal, facts = {}): void {
  const retryable = status >= 500;
  const body = StateRefused.parse({ error: `a reason: ${code}`, code, retryable, ...facts });
  send(response, status, JSON.stringify(body));
}
