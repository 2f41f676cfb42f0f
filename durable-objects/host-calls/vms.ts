import { GuestRefused } from "@svc/contract/host-protocol/files.ts";
import { type PlaceVm, VmPlaced, VmRefused } from "@svc/contract/host-protocol/vms.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { type Exec, ExecResult } from "@svc/contract/vm/exec.ts";
import { VmMetrics } from "@svc/contract/vm/metrics.ts";
import { within } from "../live/deadline.ts";
import { noteFault, noteRefusal } from "./fault.ts";
import { call, hostUrl, jsonOf, type Subject } from "./slots.ts";

/** The answer of a host that was asked for a machine. */
export type PlaceVmAnswer =
  | { type: "placed"; got: VmPlaced }
  | { type: "refused"; refused: VmRefused }
  | { type: "rejected"; status: number }
  | Unreachable;

/** `isLate`: the host took too long to answer. */
export interface Unreachable {
  type: "unreachable";
  isLate?: true;
}

/** What a call that has thrown says of its host. */
export function unreachableBy(what: string, error: unknown): Unreachable {
  noteFault(what, error);
  const isLate = error instanceof Error && error.name === "AbortError";
  return { type: "unreachable", ...(isLate && { isLate }) };
}

/** Asks a host for a machine, for at most `ms`. `onSent`: it has been asked. */
export async function placeVm(
  env: Env,
  base: string,
  subject: Subject,
  body: PlaceVm,
  { ms, onSent }: { ms: number; onSent: () => void },
): Promise<PlaceVmAnswer> {
  const init = { method: "PUT", body: JSON.stringify(body), onSent };
  try {
    return await within(ms, async (signal) => {
      const url = hostUrl(base, "vms", subject.id);
      return placeAnswer(await call(env, url, subject, { ...init, signal }));
    });
  } catch (error) {
    return unreachableBy("PUT /vms/:id", error);
  }
}

async function placeAnswer(response: Response): Promise<PlaceVmAnswer> {
  const { status } = response;
  const text = await response.text();
  if (status === 201) return { type: "placed", got: VmPlaced.parse(JSON.parse(text)) };
  const refused = refusedBy(status, text);
  noteRefusal("PUT /vms/:id", status, refused ?? { error: text.slice(0, LIMITS.detailCharacters) });
  return refused ? { type: "refused", refused } : { type: "rejected", status };
}

/** A host's refusal in its own words, or null when it is none of those that the protocol knows. */
function refusedBy(status: number, text: string): VmRefused | null {
  if (![409, 503, 507].includes(status)) return null;
  try {
    return VmRefused.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Tells a host to end a machine: resolves when it is gone there. */
export async function endVm(env: Env, base: string, subject: Subject): Promise<void> {
  await within(LIMITS.backgroundReleaseMs, async (signal) => {
    const url = hostUrl(base, "vms", subject.id);
    const response = await call(env, url, subject, { method: "DELETE", signal });
    await response.body?.cancel();
    if (response.status !== 204) throw new Error(`the host answered ${response.status}`);
  });
}

/** The answer of a host that was asked about a machine. `missing`: it knows none of that id; `failed`: it answered nothing of use. */
export type HostAnswer<T> =
  | { type: "ok"; value: T }
  /**
   * `silent`: the machine runs, and its agent does not answer. `paused`: the machine was paused before the call, and nothing
   * was done. `interrupted`: the machine was paused during the call.
   */
  | { type: "missing" | "failed" | "unreachable" | "silent" | "paused" | "interrupted" };

/** The answers of a host that say by a code of their own why there is no result. */
const WHY = { Disconnected: "silent", Paused: "paused", Interrupted: "interrupted" } as const;

/** Runs a command. An answer that is not a whole result counts as none. */
export async function execInVm(
  env: Env,
  base: string,
  subject: Subject,
  body: Exec,
  signal: AbortSignal,
): Promise<HostAnswer<ExecResult>> {
  const url = hostUrl(base, "vms", subject.id, "exec");
  const init = { method: "POST", body: JSON.stringify(body), signal };
  return ask(
    "POST /vms/:id/exec",
    () => call(env, url, subject, init),
    (json) => ExecResult.parse(json),
  );
}

/** Reads a machine's metrics. */
export function metricsOfVm(
  env: Env,
  base: string,
  subject: Subject,
): Promise<HostAnswer<VmMetrics>> {
  const url = hostUrl(base, "vms", subject.id, "metrics");
  return within(LIMITS.hostCallMs, (signal) =>
    ask(
      "GET /vms/:id/metrics",
      () => call(env, url, subject, { signal }),
      (json) => VmMetrics.parse(json),
    ),
  );
}

async function ask<T>(
  what: string,
  send: () => Promise<Response>,
  parse: (json: unknown) => T,
): Promise<HostAnswer<T>> {
  try {
    const response = await send();
    const text = await response.text();
    if (response.status === 404) return { type: "missing" };
    if (response.status === 200) return parsed(what, text, parse);
    const type = whyOf(text);
    // Without the words: they may quote what is the customer's.
    noteFault(what, `status ${response.status}, ${type}`);
    return { type };
  } catch (error) {
    noteFault(what, error);
    return { type: "unreachable" };
  }
}

function whyOf(text: string): (typeof WHY)[keyof typeof WHY] | "failed" {
  const { code = "" } = GuestRefused.safeParse(jsonOf(text)).data ?? {};
  return Object.entries(WHY).find(([name]) => name === code)?.[1] ?? "failed";
}

function parsed<T>(what: string, text: string, parse: (json: unknown) => T): HostAnswer<T> {
  try {
    return { type: "ok", value: parse(JSON.parse(text)) };
  } catch {
    // Without the error: it may quote what a command has printed.
    noteFault(what, "the answer is none of the protocol");
    return { type: "failed" };
  }
}
