import { type Pictures, takePictures } from "./pictures.ts";
import type { ReplayEvent } from "./replay-events.ts";

const META = 4;
const SNAPSHOT = 2;
const CUSTOM = 5;

/** A tab, or a frame of another origin inside it, with the events of one document after the other. */
export interface Track {
  title: string;
  isFrame: boolean;
  events: ReplayEvent[];
  pictures: Pictures;
}

/** The tracks of a replay, tabs in the order in which they came and the frames of each behind it. */
export function tracksOf(events: readonly ReplayEvent[]): Track[] {
  const tabs = new Map<string, Map<string, ReplayEvent[]>>();
  for (const event of events) {
    const { tabId, frameId = "" } = event;
    if (tabId === undefined) continue;
    const frames = tabs.get(tabId) ?? new Map<string, ReplayEvent[]>();
    tabs.set(tabId, frames);
    const track = frames.get(frameId) ?? [];
    frames.set(frameId, track);
    track.push(event);
  }
  return [...tabs.values()].flatMap((frames) =>
    [...frames]
      // The tab itself, which has no frame's name, comes first.
      .toSorted(([a], [b]) => Number(a !== "") - Number(b !== ""))
      .flatMap(([frameId, own]) => trackOf(own, frameId !== "")),
  );
}

/** Why the replay is not whole, as its last line says; null when it is, or says nothing. */
export function cutOf(events: readonly ReplayEvent[]): string | null {
  const cut = events.findLast(({ type, data }) => type === CUSTOM && data["tag"] === "svc.cut");
  const { payload } = cut?.data ?? {};
  if (typeof payload !== "object" || payload === null || !("reason" in payload)) return null;
  return String(payload.reason);
}

/** None where no document was ever shown, as in a tab that never left about:blank. */
function trackOf(events: ReplayEvent[], isFrame: boolean): Track[] {
  const sorted = events.toSorted((a, b) => a.timestamp - b.timestamp);
  const first = sorted.findIndex(({ type }) => type === META || type === SNAPSHOT);
  if (!sorted.some(({ type }) => type === SNAPSHOT)) return [];
  const shown = sorted.slice(first);
  return [{ title: titleOf(shown), isFrame, ...takePictures(shown) }];
}

function titleOf(events: readonly ReplayEvent[]): string {
  const urls = events.filter(({ type }) => type === META).map(({ data }) => String(data["href"]));
  const url = urls.findLast((each) => !each.startsWith("about:")) ?? "about:blank";
  return url.replace(/^https?:\/\//, "").slice(0, 80);
}
