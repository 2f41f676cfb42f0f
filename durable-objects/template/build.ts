import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import { isRefusal } from "@svc/contract/errors.ts";
import type { BuildReport, BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import type { TemplateLogEntry } from "@svc/contract/vm/template.ts";
import { registeredHosts } from "../fleet.ts";
import { fitting, hostsFor } from "../fleet/restorable.ts";
import type { TemplateEvent } from "./transitions.ts";
import { buildNews, startBuild } from "../host-calls/templates.ts";
import type { StoredTemplate } from "./record.ts";

/** Pause before the next look when nothing came of this one. */
const pauseMs = 2000;
/** Pause in which lines gather: a build may print many a second. */
const gatherMs = 250;

/** The part of a TemplateDO that a look at its build works on. */
export interface BuildDesk {
  read(): StoredTemplate | null;
  ask(): BuildTemplate | null;
  apply(event: TemplateEvent, facts?: Partial<StoredTemplate>): void;
  write(entries: TemplateLogEntry[]): void;
}

/** One look at a build: finds a host for it, or hears how far it is. Answers how long the next look may wait, in ms. */
export async function attend(env: Env, desk: BuildDesk): Promise<number> {
  const template = desk.read();
  const ask = desk.ask();
  if (template?.state.status !== "building" || !ask) return 0;
  const { host } = template.state;
  return host === null ? findHost(env, desk, template, ask) : hear(env, desk, template, host);
}

const system = (line: string, step = 0): TemplateLogEntry => ({
  ts: Date.now(),
  step,
  stream: "system",
  line,
});

async function findHost(
  env: Env,
  desk: BuildDesk,
  { id, org, saved, fromPlatform = null }: StoredTemplate,
  ask: BuildTemplate,
): Promise<number> {
  const registered = (await registeredHosts(env).catch(() => [])).filter(isAble(ask));
  // A snapshot goes on at its own host, or wherever it can be fetched to.
  const choice = saved
    ? hostsFor(registered, saved)
    : fitting(registered.toSorted(likelier(ask)), fromPlatform);
  for (const { hostId, url } of isRefusal(choice) ? [] : choice.hosts) {
    // Noted before it is asked: an answer that is lost may have been a yes.
    desk.apply({ type: "asked", host: hostId });
    const answer = await startBuild(env, url, { org, id }, ask);
    if (desk.read()?.state.status !== "building") {
      // It was cancelled meanwhile, and the host told before it was asked.
      desk.apply({ type: "asked", host: hostId });
      return 0;
    }
    if (answer.type !== "taken") continue;
    desk.apply({ type: "placed", host: hostId }, { hostOffset: 0 });
    desk.write([system("A host has taken the build.")]);
    return 0;
  }
  return pauseMs;
}

const isAble =
  ({ kind }: BuildTemplate) =>
  ({ type, draining, capabilities = [] }: HostRecord): boolean => {
    const needed = ["snapshots", ...(kind === "desktop" ? ["desktop"] : [])];
    return type === "vm" && !draining && needed.every((name) => capabilities.includes(name));
  };

/** Hosts that have what it begins with first, then the emptiest. */
function likelier({ from }: BuildTemplate) {
  const rank = ({ images = [], templates = [], free }: HostRecord): number[] => {
    const has =
      from.type === "image"
        ? images.some(({ name, state }) => name === from.name && state === "ready")
        : templates.includes(from.id);
    return [has ? 1 : 0, free?.memMb ?? 0];
  };
  return (left: HostRecord, right: HostRecord): number => {
    const [hasLeft = 0, roomLeft = 0] = rank(left);
    const [hasRight = 0, roomRight = 0] = rank(right);
    return hasRight - hasLeft || roomRight - roomLeft;
  };
}

async function hear(
  env: Env,
  desk: BuildDesk,
  { id, org, hostOffset }: StoredTemplate,
  host: string,
): Promise<number> {
  const registered = await registeredHosts(env).catch(() => []);
  // It may be back at another address.
  const found = registered.find(({ hostId }) => hostId === host);
  if (!found) return pauseMs;
  const answer = await buildNews(env, found.url, { org, id }, hostOffset);
  const now = desk.read();
  if (now?.state.status !== "building" || now.state.host !== host) return 0;
  if (answer.type === "unreachable") return pauseMs;
  if (answer.type === "missing") {
    desk.write([system("The host has lost the build. It begins anew.")]);
    desk.apply({ type: "forgotten" });
    return pauseMs;
  }
  take(desk, answer.report, found);
  const { length } = answer.report.entries;
  return length > 0 && length < TEMPLATE_LIMITS.pageLines ? gatherMs : 0;
}

/** Lines, and what they came to, in one go: neither is there without the other. */
function take(desk: BuildDesk, report: BuildReport, { platform }: HostRecord): void {
  const { state, step, entries, nextOffset, error, got } = report;
  desk.write(entries);
  // More of the log is to come before the end of it counts.
  const isWhole = entries.length === 0;
  if (state === "ready" && got && isWhole) {
    const { cpu, memMb, diskGb } = got;
    // All of them, also where the host has forgotten how it went.
    const done = desk.read()?.steps ?? step;
    const facts = { cpu, memMb, diskGb, platform: platform ?? null, hostOffset: nextOffset };
    desk.apply({ type: "built", step: done }, facts);
  } else if (state === "failed" && isWhole) {
    const { step: at, message } = error ?? { step, message: "The build failed." };
    desk.apply({ type: "broke", step: at, message }, { hostOffset: nextOffset });
  } else desk.apply({ type: "heard", step }, { hostOffset: nextOffset });
}
