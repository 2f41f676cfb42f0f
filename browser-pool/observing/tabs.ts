import type { ObservedPage } from "@svc/contract/browser/observer.ts";
import * as z from "zod";
import type { CdpEvent, OwnClient } from "../cdp/own-client.ts";

const URL_LENGTH = 2_048;
const TITLE_LENGTH = 256;
/** As many as `PagesMessage` takes. */
const MOST_TABS = 100;

const Info = z.object({
  targetInfo: z.object({
    targetId: z.string(),
    type: z.string(),
    title: z.string(),
    url: z.string(),
  }),
});

type Tab = Omit<ObservedPage, "active">;

/** The tabs of a browser. No page is attached to for it. */
export class Tabs {
  readonly #client: OwnClient;
  readonly #onChange: () => void;
  /** The one that came, or went somewhere, last is the last. */
  readonly #tabs = new Map<string, Tab>();

  constructor(client: OwnClient, onChange: () => void) {
    this.#client = client;
    this.#onChange = onChange;
  }

  async open(): Promise<void> {
    const filter = [{ type: "page" }, { exclude: true }];
    await this.#client.call("Target.setDiscoverTargets", { discover: true, filter });
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
    const info = Info.safeParse(params).data?.targetInfo;
    if (info?.type === "page") this.#note(info);
  }

  #note({ targetId: id, title, url }: z.infer<typeof Info>["targetInfo"]): void {
    const before = this.#tabs.get(id);
    const tab = { id, url: url.slice(0, URL_LENGTH), title: title.slice(0, TITLE_LENGTH) };
    if (before?.url === tab.url && before.title === tab.title) return;
    if (before?.url !== tab.url) this.#tabs.delete(id);
    this.#tabs.set(id, tab);
    this.#onChange();
  }
}
