import type { OpenFeed } from "@svc/contract/host-protocol/feed.ts";
import {
  type PlaceSlot,
  SlotDiscovery,
  type SlotDomains,
  type SlotHandoff,
  SlotPlaced,
  SlotRefused,
  SlotSeen,
  UNKNOWN_WISH,
  wishesMs,
} from "@svc/contract/host-protocol/slots.ts";
import { ERRORS, errorBody } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { mintHostBearer } from "@svc/contract/tokens.ts";
import { within } from "../live/deadline.ts";
import { noteFault, noteRefusal } from "./fault.ts";

/** Whose call it is: a host learns the tenant from the bearer alone. */
export interface Subject {
  org: string;
  id: string;
}

/** The answer of a host that was asked for a slot. */
export type PlaceAnswer =
  | { type: "placed"; slot: SlotPlaced }
  | { type: "full" }
  | { type: "unable"; hint: string }
  | { type: "rejected"; status: number; body: string }
  | { type: "unreachable" };

/** The bearer of a call to a host: this org, this session, for a minute. */
export function hostBearer(env: Env, { org, id }: Subject): Promise<string> {
  return mintHostBearer(env.SVC_HOST_TOKEN, {
    org,
    id,
    expiresAt: Date.now() + LIMITS.hostBearerMs,
  });
}

/** URL of something of a session on its host. */
export function hostUrl(base: string, ...segments: string[]): URL {
  return new URL(`/${segments.map(encodeURIComponent).join("/")}`, base);
}

/**
 * Asks a host for a slot. `onSent`: it has been asked. A host that is late with a profile has rejected the request: it may
 * have given a browser to it, and to ask again, or elsewhere, would take another one.
 */
export async function placeSlot(
  env: Env,
  base: string,
  subject: Subject,
  { onSent, ...body }: PlaceSlot & { onSent: () => void },
): Promise<PlaceAnswer> {
  const init = { method: "PUT", body: JSON.stringify(body), onSent };
  const { profile, proxy, captcha, recording } = body;
  const has = {
    profile: Boolean(profile),
    proxy: Boolean(proxy),
    captcha: Boolean(captcha),
    recording: Boolean(recording),
  };
  let isLate = (): boolean => false;
  try {
    return await within(body.acquireMs + wishesMs(has) + LIMITS.hostAnswerMs, async (signal) => {
      isLate = () => signal.aborted;
      const url = hostUrl(base, "slots", subject.id);
      return placeAnswer(await call(env, url, subject, { ...init, signal }));
    });
  } catch (error) {
    noteFault("PUT /slots/:id", error);
    return body.profile && isLate() ? lateProfile() : { type: "unreachable" };
  }
}

function lateProfile(): PlaceAnswer {
  const code = "ProfileUnavailable";
  const message = "The browser pool did not answer in time while it loaded the profile. Try again.";
  const body = JSON.stringify(errorBody({ code, message, context: {} }));
  return { type: "rejected", status: ERRORS[code].status, body };
}

async function placeAnswer(response: Response): Promise<PlaceAnswer> {
  const { status } = response;
  const text = await response.text();
  if (status === 201) return { type: "placed", slot: SlotPlaced.parse(JSON.parse(text)) };
  if (status === 409) return { type: "full" };
  if (status === 503 || isUnknownWish(text)) {
    const hint = hintOf(text);
    noteRefusal("PUT /slots/:id", status, { error: hint });
    return { type: "unable", hint };
  }
  if (isRejection(status, text)) {
    const error =
      SlotRefused.safeParse(jsonOf(text)).data?.error ?? text.slice(0, LIMITS.detailCharacters);
    noteRefusal("PUT /slots/:id", status, { error });
    return { type: "rejected", status, body: text };
  }
  noteFault("PUT /slots/:id", `status ${status}`);
  return { type: "unreachable" };
}

/** Whether a pool does not know a wish of the session. Another pool may. */
const isUnknownWish = (text: string): boolean =>
  SlotRefused.safeParse(jsonOf(text)).data?.code === UNKNOWN_WISH;

/**
 * Whether an answer, of any status, is the pool's rejection of the request. Answers that concern gateway and host alone
 * (a bearer, a redirect) are not, nor is the page of a proxy that stands before a pool and cannot reach it.
 */
function isRejection(status: number, text: string): boolean {
  if (status < 400 || status === 401 || status === 407) return false;
  const isUsualOfProxies = status === 403 || status === 404 || status >= 500;
  return !isUsualOfProxies || SlotRefused.safeParse(jsonOf(text)).success;
}

/** The JSON of a text; null when the text is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function hintOf(text: string): string {
  const refused = SlotRefused.safeParse(jsonOf(text)).data;
  return refused?.hint ?? refused?.error ?? "The browser pool cannot serve this kind now.";
}

/** Tells a host to end a session. Once, within 30 s; a heartbeat mends what this misses. */
export async function endSlot(env: Env, base: string, subject: Subject): Promise<void> {
  await within(LIMITS.backgroundReleaseMs, async (signal) => {
    const url = hostUrl(base, "slots", subject.id);
    const response = await call(env, url, subject, { method: "DELETE", signal });
    await response.body?.cancel();
    if (response.status !== 204) throw new Error(`the host answered ${response.status}`);
  });
}

/** The session as its host sees it now; null when the host does not hold it. Throws when the host does not say. */
export async function seeSlot(env: Env, base: string, subject: Subject): Promise<SlotSeen | null> {
  return within(LIMITS.hostAnswerMs, async (signal) => {
    const response = await call(env, hostUrl(base, "slots", subject.id), subject, { signal });
    const text = await response.text();
    if (response.status === 404) return null;
    if (response.status !== 200) throw new Error(`the host answered ${response.status}`);
    return SlotSeen.parse(JSON.parse(text));
  });
}

/** What the browser of a session says of itself; null when its host does not hold it. Throws when the host does not say. */
export async function discoverSlot(
  env: Env,
  base: string,
  subject: Subject,
): Promise<SlotDiscovery | null> {
  return within(LIMITS.hostCallMs, async (signal) => {
    const response = await call(env, hostUrl(base, "cdp", subject.id), subject, { signal });
    const text = await response.text();
    if (response.status === 404) return null;
    if (response.status !== 200) throw new Error(`the host answered ${response.status}`);
    return SlotDiscovery.parse(JSON.parse(text));
  });
}

/** Replaces the allowlist of a session on its host, unless the host has placed it without one, or does not answer as it should. */
export async function setSlotDomains(
  env: Env,
  base: string,
  subject: Subject,
  body: SlotDomains,
): Promise<"set" | "unconfined" | "unreachable"> {
  const url = hostUrl(base, "slots", subject.id, "allowed-domains");
  const init = { method: "POST", body: JSON.stringify(body) };
  try {
    return await within(LIMITS.hostCallMs, async (signal) => {
      const response = await call(env, url, subject, { ...init, signal });
      await response.body?.cancel();
      if (response.status === 409) return "unconfined";
      if (response.status !== 200) throw new Error(`the host answered ${response.status}`);
      return "set";
    });
  } catch (error) {
    noteFault("POST /slots/:id/allowed-domains", error);
    return "unreachable";
  }
}

/** Tells a host whether a hand-off of a session is open. Throws when the host has not taken it; false: it does not hold the session. */
export async function tellHandoff(
  env: Env,
  base: string,
  subject: Subject,
  body: SlotHandoff,
): Promise<boolean> {
  const url = hostUrl(base, "slots", subject.id, "handoff");
  const init = { method: "POST", body: JSON.stringify(body) };
  return within(LIMITS.hidingMs + LIMITS.hostAnswerMs, async (signal) => {
    const response = await call(env, url, subject, { ...init, signal });
    await response.body?.cancel();
    if (response.status === 404) return false;
    if (response.status !== 204) throw new Error(`the host answered ${response.status}`);
    return true;
  });
}

/** Has the pool of a session dial in with what its browser shows; false when it has not. */
export async function openSlotFeed(
  env: Env,
  base: string,
  subject: Subject,
  body: OpenFeed,
): Promise<boolean> {
  const url = hostUrl(base, "slots", subject.id, "feed");
  const init = { method: "POST", body: JSON.stringify(body) };
  try {
    return await within(LIMITS.hostCallMs, async (signal) => {
      const response = await call(env, url, subject, { ...init, signal });
      await response.body?.cancel();
      if (response.status !== 204) throw new Error(`the host answered ${response.status}`);
      return true;
    });
  } catch (error) {
    noteFault("POST /slots/:id/feed", error);
    return false;
  }
}

/** Tells a host to take no new sessions; true when it agreed. */
export async function drainHost(env: Env, base: string): Promise<boolean> {
  return within(LIMITS.hostCallMs, async (signal) => {
    const subject = { org: "operator", id: "drain" };
    const response = await call(env, hostUrl(base, "drain"), subject, { method: "POST", signal });
    await response.body?.cancel();
    return response.status === 202;
  });
}

/** Calls a host with the bearer of a session or VM. `onSent`: the call is on its way. */
export async function call(
  env: Env,
  url: URL,
  subject: Subject,
  { onSent, ...init }: RequestInit & { onSent?: () => void },
): Promise<Response> {
  const headers = {
    authorization: `Bearer ${await hostBearer(env, subject)}`,
    "content-type": "application/json",
  };
  // Followed, a redirect would take the gateway, and its answer the customer, to wherever a host says.
  const answer = fetch(url, { ...init, headers, redirect: "manual" });
  // Only then do its bytes leave.
  if (onSent) setTimeout(onSent, 0);
  return answer;
}
