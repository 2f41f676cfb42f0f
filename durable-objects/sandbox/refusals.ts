import { type Refusal, refusal } from "@svc/contract/errors.ts";
import type { StateRefused } from "@svc/contract/host-protocol/vm-states.ts";
import { holderAway, notRestorable } from "../fleet/restorable.ts";
import type { NotChanged } from "../host-calls/vm-states.ts";
import type { StoredSandbox } from "./record.ts";

/** The refusal of a paused sandbox that resumes by itself: the caller resumes it, then asks again. */
export interface ResumeFirst extends Refusal {
  resumeFirst: { org: string };
}

export const isResumeFirst = (answer: object): answer is ResumeFirst => "resumeFirst" in answer;

export const noSandbox = (): Refusal => refusal("NotFound", "There is no such sandbox.");

export const noSnapshot = (): Refusal => refusal("NotFound", "There is no such snapshot.");

export const unreachable = (): Refusal =>
  refusal("HostUnreachable", "The machine cannot be reached. Try again.");

/** The machine runs on: its agent is started again within a minute. */
export const silent = (): Refusal =>
  refusal("HostUnreachable", "The agent of this machine does not answer. Try again in a minute.");

export const paused = (): Refusal => refusal("NotRunning", "The sandbox is paused. Resume it.");

export const interrupted = (): Refusal =>
  refusal("NotRunning", "The sandbox was paused while the command ran. Resume it.");

/** Why nothing can be run in a sandbox; null when something can. */
export function notRunning(sandbox: StoredSandbox | null): Refusal | null {
  switch (sandbox?.state.status) {
    case undefined:
    case "releasing":
    case "gone":
    case "failed":
      return noSandbox();
    case "running":
      return sandbox.state.awaySince === null ? null : unreachable();
    case "paused":
      return paused();
    case "starting":
      return refusal("NotRunning", "The sandbox is still starting.");
  }
}

/** The same, and whether a resume would help. */
export function notUsable(sandbox: StoredSandbox | null): Refusal | ResumeFirst | null {
  const refused = notRunning(sandbox);
  return refused && resumable(sandbox, refused);
}

/** Adds to a refusal that a resume would help, if it would. */
export function resumable(sandbox: StoredSandbox | null, refused: Refusal): Refusal | ResumeFirst {
  if (sandbox?.state.status !== "paused" || !sandbox.autoResume) return refused;
  return { ...refused, resumeFirst: { org: sandbox.org } };
}

/** Why a machine was not saved. */
export function notSaved(answer: NotChanged, what: "paused" | "kept"): Refusal {
  if (answer.type === "unreachable") return unreachable();
  const { status, refused } = answer;
  if (refused.code === "HostCapabilityMissing") return cannotSave();
  if (status === 404 || refused.code === "NotRunning") return unknownThere();
  return refusal("HostRejected", `The machine could not be ${what}. Try again.`, hintOf(refused));
}

const unknownThere = (): Refusal =>
  refusal("NotRunning", "Its host does not know this machine any more.");

const cannotSave = (): Refusal =>
  refusal("HostCapabilityMissing", "Its host cannot save machines.", {
    missingCapabilities: ["snapshots"],
  });

/** Why a saved machine was not resumed. */
export function notResumed(answer: NotChanged): Refusal {
  if (answer.type === "unreachable") return holderAway();
  const { status, refused } = answer;
  switch (refused.code) {
    case "InsufficientCapacity":
    case "NoCapacity":
      return refusal(
        refused.code,
        "The host has no capacity for the machine right now. Try again.",
        hintOf(refused),
      );
    case "SnapshotNotRestorable":
    case "UnknownSnapshot":
    case "NotPaused":
    case "NotRunning":
      return notRestorable(refused.error);
    case "Busy":
    case "HostCapabilityMissing":
    case "ResumeFailed":
    case "SnapshotFailed":
      if (status === 404) return notRestorable(refused.error);
      return refusal(
        "HostRejected",
        "The machine could not be resumed. Try again.",
        hintOf(refused),
      );
  }
}

/** Why a running machine did not go back to a snapshot. */
export function notReverted(answer: NotChanged): Refusal {
  const isUnknown = answer.type === "refused" && answer.refused.code === "NotRunning";
  return isUnknown ? unknownThere() : notResumed(answer);
}

const hintOf = ({ error }: StateRefused) => ({ hint: error });
