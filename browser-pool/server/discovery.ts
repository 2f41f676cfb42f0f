import type { SlotDiscovery } from "@svc/contract/host-protocol/slots.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import { messageOf } from "@svc/host-kit/log.ts";
import { replyJson, replyText } from "@svc/host-kit/reply.ts";
import { type JsonObject, isObject } from "../cdp/envelope.ts";
import type { CdpMux } from "../cdp/mux.ts";
import type { SlotCall } from "./call.ts";

/** Longer texts are cut: a page's URL may be all that the page holds. */
const TEXT_LENGTH = 8_192;
/** More pages than any session has. */
const MOST_TARGETS = 500;

/** GET /cdp/:sessionId without an upgrade: the browser and its targets, for clients that discover a browser over HTTP. */
export async function discover({ sessions, log, id, response }: SlotCall): Promise<void> {
  const session = sessions.get(id);
  if (!session) return replyText(response, 404, "No such session\n");
  const { mux, number } = session.slot;
  const found = await inTime(discovered(mux), LIMITS.slotDiscoveryMs).catch(messageOf);
  if (typeof found === "object") return replyJson(response, 200, found);
  log.warn(
    { slot: number, reason: found === LATE ? "no answer in time" : found },
    "not_discovered",
  );
  replyText(response, 502, "The browser did not answer\n");
}

async function discovered(mux: CdpMux): Promise<SlotDiscovery> {
  const [version, targets] = await Promise.all([
    mux.call("Browser.getVersion"),
    mux.call("Target.getTargets"),
  ]);
  const infos = Array.isArray(targets.targetInfos) ? targets.targetInfos : [];
  return {
    browser: textOf(version.product),
    protocol: textOf(version.protocolVersion),
    userAgent: textOf(version.userAgent),
    engine: textOf(version.jsVersion),
    revision: textOf(version.revision),
    targets: infos.filter(isObject).slice(0, MOST_TARGETS).map(targetOf),
  };
}

/** A page that has no title, or none yet, goes by its URL, as in Chrome. */
export function targetOf(info: JsonObject): SlotDiscovery["targets"][number] {
  const { targetId, type, title, url } = info;
  const address = textOf(url);
  return {
    id: textOf(targetId),
    type: textOf(type),
    title: textOf(title) || address,
    url: address,
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, TEXT_LENGTH) : "";
}
