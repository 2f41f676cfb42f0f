import { LIMITS } from "@svc/contract/limits.ts";
import type { ReplayEvent } from "./replay-events.ts";

const SNAPSHOT = 2;
const CUSTOM = 5;
/** An event that rrweb's player passes over without a mark. */
const PLUGIN = 6;
const TAG = "svc.picture";
const URL_OF_PICTURE = /^data:image\/webp;base64,[A-Za-z0-9+/]+={0,2}$/;
/** Larger pictures are not a recorder's. */
const MOST_PIXELS = LIMITS.replayPdfPixels;

/** From a moment on, an element shows a picture. Without an id: the document is built anew, and shows none. */
interface Change {
  at: number;
  id: number | null;
  url: string;
}

/** Which pictures the elements of a track show, by the numbers that rrweb has for them. */
export class Pictures {
  readonly #changes: readonly Change[];
  #next = 0;
  readonly #shown = new Map<number, string>();

  constructor(changes: readonly Change[]) {
    this.#changes = changes;
  }

  get isEmpty(): boolean {
    return this.#changes.length === 0;
  }

  /** The URLs of the pictures that are shown at a moment (ms since the epoch), by the ids of their elements. */
  at(moment: number): ReadonlyMap<number, string> {
    const last = this.#changes[this.#next - 1];
    if (last && last.at > moment) {
      this.#next = 0;
      this.#shown.clear();
    }
    for (let change = this.#changes[this.#next]; change && change.at <= moment;) {
      this.#apply(change);
      this.#next += 1;
      change = this.#changes[this.#next];
    }
    return this.#shown;
  }

  #apply({ id, url }: Change): void {
    if (id === null) this.#shown.clear();
    else if (this.#shown.has(id) || this.#shown.size < LIMITS.replayPicturedElements)
      this.#shown.set(id, url);
  }
}

/** Takes the pictures out of the sorted events of a track: to rrweb's player each would be a mark on the time line. */
export function takePictures(events: readonly ReplayEvent[]) {
  const changes: Change[] = [];
  const named = new Map<string, string>();
  const rest: ReplayEvent[] = [];
  let end: ReplayEvent | null = null;
  for (const event of events) {
    const { type, timestamp: at, data } = event;
    if (type === SNAPSHOT) changes.push({ at, id: null, url: "" });
    if (type !== CUSTOM || data["tag"] !== TAG) {
      rest.push(event);
      continue;
    }
    const change = changeOf(at, data["payload"], named);
    if (change) changes.push(change);
    end = { ...event, type: PLUGIN, data: { plugin: TAG, payload: {} } };
  }
  const hasPictures = changes.some(({ id }) => id !== null);
  // The track lasts as long as its last picture.
  const isLonger = end !== null && end.timestamp > (rest.at(-1)?.timestamp ?? 0);
  return {
    events: end && isLonger ? [...rest, end] : rest,
    pictures: new Pictures(hasPictures ? changes : []),
  };
}

/** `named`: the pictures so far by their names: a later change may give the name alone. */
function changeOf(at: number, payload: unknown, named: Map<string, string>): Change | null {
  if (typeof payload !== "object" || payload === null) return null;
  const { id, picture, data } = payload as Record<string, unknown>;
  if (typeof id !== "number" || typeof picture !== "string") return null;
  if (typeof data === "string" && isPicture(data)) named.set(picture, data);
  const url = named.get(picture);
  return url === undefined ? null : { at, id, url };
}

const isPicture = (url: string): boolean =>
  url.length <= LIMITS.replayPictureCharacters && URL_OF_PICTURE.test(url);

/** The bytes of a picture; null where they are no WebP, or one of too many pixels: a few bytes may say millions. */
export function bytesOf(url: string): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = Uint8Array.from(atob(url.slice(url.indexOf(",") + 1)), (c) => c.charCodeAt(0));
    const pixels = pixelsOf(new DataView(bytes.buffer));
    return pixels > 0 && pixels <= MOST_PIXELS ? bytes : null;
  } catch {
    return null;
  }
}

/** Pixels of a WebP by its first chunk, to which decoders hold all later ones. Throws where the bytes end before. */
function pixelsOf(view: DataView): number {
  const word = (at: number): string =>
    String.fromCharCode(...[0, 1, 2, 3].map((n) => view.getUint8(at + n)));
  if (word(0) !== "RIFF" || word(8) !== "WEBP") return 0;
  const short = (at: number): number => view.getUint16(at, true);
  const three = (at: number): number => short(at) + view.getUint8(at + 2) * 65_536;
  switch (word(12)) {
    case "VP8 ":
      return (short(26) & 0x3f_ff) * (short(28) & 0x3f_ff);
    case "VP8L": {
      const bits = view.getUint32(21, true);
      return ((bits & 0x3f_ff) + 1) * (((bits >>> 14) & 0x3f_ff) + 1);
    }
    case "VP8X":
      return (three(24) + 1) * (three(27) + 1);
    default:
      return 0;
  }
}
