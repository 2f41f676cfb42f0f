import { LIMITS } from "@svc/contract/limits.ts";
import { RETRY_MS, type Table } from "../live/duty-record.ts";
import { duties, parkedSince, type SandboxDuty, wantsCheckpoint, wantsEnd } from "./duties.ts";
import type { StoredSandbox } from "./record.ts";
import type { SandboxEvent } from "./state.ts";
import { step, timers } from "./transitions.ts";

/** The rules by which a sandbox's record changes. */
export const SANDBOX_TABLE: Table<StoredSandbox, SandboxEvent, SandboxDuty> = {
  key: "sandbox",
  step,
  timers: ({ state }) => timers(state),
  duties: (before, after) => {
    const fresh = duties(before.state, after.state);
    // The list learns of a moved deadline too, though not of each step of it, and of each record.
    const isKnown = isListed(after) && isSameRecord(before, after);
    const isIndexed = isCreated(before, after) || fresh.includes("index") || isKnown;
    return isIndexed ? fresh : [...fresh, "index"];
  },
  // A new sandbox's duties are left to the alarm: now they would take the machine from its client.
  atOnce: (before, after, fresh) => (isCreated(before, after) ? [] : fresh),
  amend: (before, after, fresh) =>
    isCreated(before, after) || fresh.includes("index")
      ? { listedExpiresAt: expiryToList(after) }
      : {},
  unwritten: ["machine"],
  // Its host has not let go of the machine yet.
  lasting: ({ status }) => (status === "releasing" ? ["machine"] : []),
  isDone,
  retryMs: (duty, owed) =>
    // A try stops the guest for a moment: not every few seconds.
    stopsGuest(duty) && owed.every(stopsGuest) ? LIMITS.pauseRetryMs : RETRY_MS,
  giveUpAt: (state) => (state.status === "starting" ? state.giveUpAt : null),
  eraseAt: (state) => {
    if (state.status === "failed") return 0;
    return state.status === "gone" ? state.endedAt + LIMITS.goneReadableMs : null;
  },
};

const isCreated = (before: StoredSandbox, after: StoredSandbox): boolean =>
  before.state.status === "starting" && after.state.status === "running";

/** The `expiresAt` that the org's list should show. */
const expiryToList = ({ state, listedExpiresAt }: StoredSandbox): number =>
  state.status === "running" ? state.expiresAt : listedExpiresAt;

/** Whether the org's list shows a deadline that is near enough. */
const isListed = (sandbox: StoredSandbox): boolean =>
  Math.abs(expiryToList(sandbox) - sandbox.listedExpiresAt) < LIMITS.listedExpiryMs;

/** Whether the org's list counts the record that the sandbox goes on from. */
export const isSameRecord = (before: StoredSandbox, after: StoredSandbox): boolean =>
  before.record?.id === after.record?.id && before.record?.sizeBytes === after.record?.sizeBytes;

const stopsGuest = (duty: SandboxDuty): boolean => duty === "pause" || duty === "checkpoint";

/** Whether a duty that was done from `seen` is done for the sandbox as it is now. */
function isDone(now: StoredSandbox, seen: StoredSandbox, duty: SandboxDuty): boolean {
  if (duty === "snapshot") return !now.taking;
  if (duty === "checkpoint") return !wantsCheckpoint(now.state);
  if (duty === "end") return !wantsEnd(now.state);
  if (duty === "park") return parkedSince(now.state) === parkedSince(seen.state);
  if (duty === "usage") return JSON.stringify(now.state.bill) === JSON.stringify(seen.state.bill);
  if (duty === "index" && !isSameRecord(seen, now)) return false;
  return now.state.status === seen.state.status && now.listedExpiresAt === seen.listedExpiresAt;
}
