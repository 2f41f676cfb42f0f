import {
  SnapshotTaken,
  StateRefused,
  VmCheckpointed,
  VmEnded,
  VmParked,
  VmPaused,
  VmResumed,
} from "@svc/contract/host-protocol/vm-states.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type * as z from "zod";
import { within } from "../live/deadline.ts";
import { noteFault, noteRefusal } from "./fault.ts";
import { call, hostUrl, type Subject } from "./slots.ts";
import { type Unreachable, unreachableBy } from "./vms.ts";

/** The answer of a host that was asked to change the state of a machine. */
export type StateAnswer<T> = { type: "ok"; value: T } | NotChanged;
/** Why the state was not changed. */
export type NotChanged = { type: "refused"; status: number; refused: StateRefused } | Unreachable;

/** What a host can be asked to do with a machine, and what it answers. */
const CHANGES = {
  /** Memory and disk are saved when it answers. */
  pause: VmPaused,
  /** From the record that is named, else from the one that the host has. */
  resume: VmResumed,
  park: VmParked,
  /** Unless it is in use. */
  end: VmEnded,
  checkpoint: VmCheckpointed,
  snapshot: SnapshotTaken,
  revert: VmResumed,
} as const satisfies Record<string, z.ZodType>;
type ChangeName = keyof typeof CHANGES;

/** Asks the host at `base`, for at most `ms`. */
export async function changeVm<C extends ChangeName>(
  env: Env,
  base: string,
  subject: Subject,
  change: C,
  body?: object,
  ms: number = LIMITS.stateChangeMs,
): Promise<StateAnswer<z.infer<(typeof CHANGES)[C]>>> {
  const url = hostUrl(base, "vms", subject.id, change);
  const init = { method: "POST", ...(body && { body: JSON.stringify(body) }) };
  const schema: z.ZodType = CHANGES[change];
  const what = `POST /vms/:id/${change}`;
  try {
    return await within(ms, async (signal) => {
      const response = await call(env, url, subject, { ...init, signal });
      const { status } = response;
      const json: unknown = JSON.parse(await response.text());
      if (status === 200 || status === 201)
        return { type: "ok", value: schema.parse(json) as z.infer<(typeof CHANGES)[C]> };
      const refused = StateRefused.parse(json);
      // A machine in use is not rested: that is no fault, and happens often.
      if (refused.code !== "Busy") noteRefusal(what, status, refused);
      return { type: "refused", status, refused };
    });
  } catch (error) {
    return unreachableBy(what, error);
  }
}

/** Tells a host to let go of a snapshot. False when it did not say that it has. */
export async function removeSnapshotAt(env: Env, base: string, subject: Subject): Promise<boolean> {
  const url = hostUrl(base, "snapshots", subject.id);
  try {
    return await within(LIMITS.backgroundReleaseMs, async (signal) => {
      const response = await call(env, url, subject, { method: "DELETE", signal });
      await response.body?.cancel();
      if (response.status !== 204) throw new Error(`the host answered ${response.status}`);
      return true;
    });
  } catch (error) {
    noteFault("DELETE /snapshots/:id", error);
    return false;
  }
}
