import type { ObservedPage } from "@svc/contract/browser/observer.ts";
import * as z from "zod";
import type { CdpEvent, OwnClient } from "../cdp/own-client.ts";

const URL_LENGTH = 2_048;
const TITLE_LENGTH = 256;
/** As many as `PagesMessage` takes. */
const MOST_TABS = 100;

/** The browser tells of new tabs and URLs; titles it is asked for. */
const TITLES_EVERY_MS = 1_000;

const TargetInfo = z.object({
  targetId: z.string(),
  type: z.string(),
  title: z.string(),
  url: z.string(),
});
const Told = z.object({ targetInfo: TargetInfo });
const Answered = z.object({ targetInfos: z.array(TargetInfo) });

type Tab = Omit<ObservedPage, "active">;

/** The tabs of a browser. No page is attached to for it. */
export class Tabs {
  readonly #client: OwnClient;
  readonly #onChange: () => void;
  /** The one that came, or went somewhere, last is the last. */
  readonly #tabs = new Map<string, Tab>();
  #asking: NodeJS.Timeout | null = null;
  /** A browser that is slow is not asked again before it has answered. */
  #isAsked = false;
  #isClosed = false;

  constructor(client: OwnClient, onChange: () => void) {
    this.#client = client;
    this.#onChange = onChange;
  }

  async open(): Promise<void> {
    const filter = [{ type: "page" }, { exclude: true }];
    await this.#client.call("Target.setDiscoverTargets", { discover: true, filter });
    this.#asking = setInterval(() => void this.#ask(filter), TITLES_EVERY_MS);
    if (this.#isClosed) this.close();
  }

  close(): void {
    this.#isClosed = true;
    if (this.#asking) clearInterval(this.#asking);
  }

  get active(): string | null {
    return [...this.#tabs.keys()].at(-1) ?? null;
  }

  get list(): ObservedPage[] {
    const { active } = this;
    const newest = [...this.#tabs.values()].slice(-MOST_TABS);
    return newest.map((tab) => ({ ...tab, active: tab.id === active }));
  }

  has(page: string): boolean {
    return this.#tabs.has(page);
  }

  hear({ method, params }: CdpEvent): void {
    if (method === "Target.targetDestroyed") {
      if (this.#tabs.delete(String(params.targetId))) this.#onChange();
      return;
    }
    if (method !== "Target.targetCreated" && method !== "Target.targetInfoChanged") return;
    const info = Told.safeParse(params).data?.targetInfo;
    if (info?.type === "page") this.#note(info);
  }

  async #ask(filter: object[]): Promise<void> {
    if (this.#isAsked) return;
    this.#isAsked = true;
    // A browser that is gone ends all of this.
    const answer = await this.#client.call("Target.getTargets", { filter }).catch(() => ({}));
    this.#isAsked = false;
    const infos = Answered.safeParse(answer).data?.targetInfos ?? [];
    // Tabs that have come or gone meanwhile are told by their own events.
    for (const info of infos) if (this.#tabs.has(info.targetId)) this.#note(info);
  }

  #note({ targetId: id, title, url }: z.infer<typeof TargetInfo>): void {
    const before = this.#tabs.get(id);
    const tab = { id, url: shownUrl(url), title: title.slice(0, TITLE_LENGTH) };
    if (before?.url === tab.url && before.title === tab.title) return;
    if (before?.url !== tab.url) this.#tabs.delete(id);
    this.#tabs.set(id, tab);
    this.#onChange();
  }
}

/** A URL without the name and password in it: they are nobody's to see, and a long name would be all that is left of a host. */
function shownUrl(text: string): string {
  if (!text.includes("@") || !URL.canParse(text)) return text.slice(0, URL_LENGTH);
  const url = new URL(text);
  url.username = "";
  url.password = "";
  return url.href.slice(0, URL_LENGTH);
}
