import { Player } from "rrweb-player";
import playerStyles from "rrweb-player/dist/style.css";
import { disarm } from "./disarm.ts";
import { PictureLayer } from "./picture-layer.ts";
import { readReplay, type ReplayEvent } from "./replay-events.ts";
import { STYLES } from "./styles.ts";
import { cutOf, type Track, tracksOf } from "./tracks.ts";

/** Height of the player's own controls. */
const CONTROLS_PX = 80;
const SPEEDS = [1, 2, 4, 8];
/** Beyond it rrweb's search for the next idle time, which looks at all events for each, would take the time of playing. */
const SKIPPED_EVENTS = 20_000;

type Attributes = Record<string, string>;

/** An element of the page. Texts are texts, never markup: titles are those of recorded pages. */
function made(tag: string, attributes: Attributes = {}, children: (Node | string)[] = []) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** The one track that plays. */
class Stage {
  readonly element = made("div", { class: "stage" });
  #player: Player | null = null;
  #layer: PictureLayer | null = null;
  #startedAt = 0;

  show(track: Track): void {
    const at = this.#now();
    this.#close();
    const [first] = track.events;
    this.#startedAt = first?.timestamp ?? 0;
    const { clientWidth: width, clientHeight } = this.element;
    const height = Math.max(clientHeight - CONTROLS_PX, 100);
    // Its type wants events of rrweb's own types; what is wrong in them is not shown.
    const events = track.events as never[];
    const skipInactive = events.length < SKIPPED_EVENTS;
    const options = { autoPlay: true, skipInactive, speedOption: SPEEDS, showWarning: false };
    this.#player = new Player({
      target: this.element,
      props: { events, width, height, ...options },
    });
    this.#lock();
    this.#layer = new PictureLayer(track.pictures, this.#player.getReplayer(), this.#startedAt);
    if (at !== null && at > this.#startedAt) this.#player.goto(at - this.#startedAt, true);
  }

  /** The moment that is shown, in ms since the epoch. */
  #now(): number | null {
    return this.#player && this.#startedAt + this.#player.getReplayer().getCurrentTime();
  }

  /** Nobody comes into the recorded page, not even by the Tab key. */
  #lock(): void {
    for (const frame of this.element.querySelectorAll("iframe")) frame.inert = true;
  }

  #close(): void {
    this.#layer?.close();
    this.#player?.pause();
    this.#player?.$destroy();
    this.element.replaceChildren();
    this.#player = null;
  }
}

function tabsOf(tracks: readonly Track[], stage: Stage): HTMLElement {
  const buttons = tracks.map((track) => {
    const name = track.isFrame ? `↳ ${track.title}` : track.title;
    const button = made("button", { role: "tab", title: track.title }, [name]);
    button.addEventListener("click", () => choose(button, track));
    return button;
  });
  function choose(chosen: Element, track: Track): void {
    for (const button of buttons) button.setAttribute("aria-selected", String(button === chosen));
    stage.show(track);
  }
  const [firstButton] = buttons;
  const [firstTrack] = tracks;
  if (firstButton && firstTrack) requestAnimationFrame(() => choose(firstButton, firstTrack));
  return made("nav", { role: "tablist", "aria-label": "Tabs" }, buttons);
}

const noteOf = (text: string): HTMLElement => made("p", { class: "note", role: "status" }, [text]);

function download(bytes: Blob): HTMLElement {
  const href = URL.createObjectURL(bytes);
  return made("a", { href, download: "replay.ndjson.gz" }, ["Download"]);
}

function show(root: HTMLElement, bytes: Blob | null, events: ReplayEvent[], notes: string[]): void {
  for (const event of events) disarm(event);
  const tracks = tracksOf(events);
  const stage = new Stage();
  if (tracks.length === 0) notes.push("No page was shown while this session was recorded.");
  const links = bytes ? [download(bytes)] : [];
  const told = made("div", {}, notes.map(noteOf));
  // rrweb throws wherever it meets what it did not write itself.
  const onFault = () =>
    told.append(noteOf("A part of this replay is damaged and cannot be shown."));
  addEventListener("error", onFault, { once: true });
  root.replaceChildren(made("header", {}, [tabsOf(tracks, stage), ...links]), told, stage.element);
}

async function start(root: HTMLElement): Promise<void> {
  document.head.append(made("style", {}, [playerStyles + STYLES]));
  const response = await fetch(root.dataset["replay"] ?? "");
  if (!response.ok) throw new Error(`the replay answered ${response.status}`);
  const bytes = await response.blob();
  const { events, fault } = await readReplay(
    bytes.stream() as ReadableStream<Uint8Array<ArrayBuffer>>,
  );
  const cut = cutOf(events);
  const notes = [fault, cut && `The end of this replay is missing: ${cut}.`];
  show(
    root,
    bytes,
    events,
    notes.filter((note) => note !== null),
  );
}

const root = document.getElementById("replay");
if (root)
  start(root).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    const text = `This replay cannot be played (${reason}). Ask for its URL again, or download it.`;
    root.replaceChildren(made("p", { class: "note", role: "alert" }, [text]));
  });
