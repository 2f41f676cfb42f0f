import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import { isRefusal } from "@svc/contract/errors.ts";
import type { BuildReport, BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { logOf } from "@svc/contract/log.ts";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import { knownHosts } from "../fleet/registry.ts";
import { byRank, emptiest, hasImage, hostsFor, hostsWith, restoring } from "../fleet/restorable.ts";
import { askBuild, startBuild } from "../host-calls/templates.ts";
import type { LiveTemplate, StoredTemplate } from "./record.ts";

const log = logOf("durable-objects");

/** Pause before the next look when nothing came of this one. */
const pauseMs = 2000;
/** Pause in which lines gather: a build may print many a second. */
const gatherMs = 250;

/** Looks after a build that is under way, and notes when to look again. */
export async function lookAfterBuild(live: LiveTemplate): Promise<void> {
  const { record } = live;
  if (record.load()?.state.status !== "building") return;
  const waitMs = await look(live).catch((error: unknown) => {
    log.error("build_look_failed", { reason: error });
    return LIMITS.heartbeatMs;
  });
  if (record.load()?.state.status === "building") record.note({ lookAt: Date.now() + waitMs });
}

/** One look at a build: finds a host for it, or hears how far it is. Answers how long the next look may wait, in ms. */
async function look(live: LiveTemplate): Promise<number> {
  const template = live.record.load();
  const order = live.order.load();
  if (template?.state.status !== "building" || !order) return 0;
  const { host } = template.state;
  return host === null ? findHost(live, template, order) : hear(live, template, host);
}

async function findHost(
  { env, record, log: lines }: LiveTemplate,
  { id, org, saved, fromPlatform: platform = null }: StoredTemplate,
  order: BuildTemplate,
): Promise<number> {
  const able = hostsWith(await knownHosts(env), restoring(order.kind));
  const choice = hostsFor(able.toSorted(byRank(likelihood(order))), { saved, platform });
  let why: string | null = null;
  for (const { hostId, url } of isRefusal(choice) ? [] : choice.hosts) {
    // Noted before the host is asked: an answer that is lost may have been a yes.
    record.apply({ type: "asked", host: hostId });
    const answer = await startBuild(env, url, { org, id }, order);
    if (record.load()?.state.status !== "building") {
      // The build was cancelled meanwhile, and the host told before it was asked.
      record.apply({ type: "asked", host: hostId });
      return 0;
    }
    if (answer.type === "refused") why = answer.reason;
    if (answer.type !== "taken") continue;
    record.apply({ type: "placed", host: hostId }, { hostOffset: 0 });
    lines.say("A host has taken the build.");
    return 0;
  }
  // What it waits for, such as an image that is being built.
  if (why !== null) lines.sayOnce(why);
  return pauseMs;
}

/** Hosts that have what the build begins with first, then the emptiest. */
function likelihood({ from }: BuildTemplate) {
  return (host: HostRecord): number[] => {
    const has =
      from.type === "image" ? hasImage(host, from.name) : host.templates?.includes(from.id);
    return [has ? 1 : 0, ...emptiest(host)];
  };
}

async function hear(
  live: LiveTemplate,
  { id, org, hostOffset }: StoredTemplate,
  host: string,
): Promise<number> {
  const { env, record } = live;
  // The host may be back at another address.
  const found = (await knownHosts(env)).find(({ hostId }) => hostId === host);
  if (!found) return pauseMs;
  const answer = await askBuild(env, found.url, { org, id }, hostOffset);
  const now = record.load();
  if (now?.state.status !== "building" || now.state.host !== host) return 0;
  if (answer.type === "unreachable") return pauseMs;
  if (answer.type === "missing") {
    live.log.say("The host has lost the build. It begins anew.");
    record.apply({ type: "forgotten" });
    return pauseMs;
  }
  take(live, answer.report, found);
  const { length } = answer.report.entries;
  return length > 0 && length < TEMPLATE_LIMITS.pageLines ? gatherMs : 0;
}

/** Takes lines and the state that they led to in one go: neither is there without the other. */
function take(
  { record, log: lines }: LiveTemplate,
  report: BuildReport,
  { platform }: HostRecord,
): void {
  const { state, step, entries, nextOffset: hostOffset, error, got } = report;
  lines.write(entries);
  // More of the log is to come before the end of the build counts.
  const isWhole = entries.length === 0;
  if (state === "ready" && got && isWhole) {
    const { cpu, memMb, diskGb } = got;
    // All steps, also where the host has forgotten how the build went.
    const done = record.load()?.steps ?? step;
    const facts = { cpu, memMb, diskGb, platform: platform ?? null, hostOffset };
    record.apply({ type: "built", step: done }, facts);
  } else if (state === "failed" && isWhole) {
    const { step: at, message } = error ?? { step, message: "The build failed." };
    record.apply({ type: "broke", step: at, message }, { hostOffset });
  } else record.apply({ type: "heard", step }, { hostOffset });
}
