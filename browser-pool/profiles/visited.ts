import * as z from "zod";
import type { CdpMux } from "../cdp/mux.ts";
import { type CdpEvent, OwnClient } from "../cdp/own-client.ts";

/** Far more than a profile keeps. */
const MOST = 2_000;

const Target = z.object({
  type: z.string(),
  url: z.string(),
  browserContextId: z.string().optional(),
});
const Told = z.object({ targetInfo: Target });
const Targets = z.object({ targetInfos: z.array(Target) });

/** The origins of the pages that the default context of a browser has had, oldest visit first. */
export class VisitedOrigins {
  readonly #origins = new Set<string>();
  /** The default context, by the page that every browser starts with. */
  #context: string | null = null;

  static async start(mux: CdpMux): Promise<VisitedOrigins> {
    const visited = new VisitedOrigins();
    const client = new OwnClient(mux, (event) => visited.#hear(event));
    await client.open();
    const { targetInfos } = Targets.parse(await client.call("Target.getTargets"));
    visited.#context = targetInfos.find(({ type }) => type === "page")?.browserContextId ?? null;
    const filter = [{ type: "page" }, { type: "iframe" }, { exclude: true }];
    await client.call("Target.setDiscoverTargets", { discover: true, filter });
    return visited;
  }

  get list(): string[] {
    return [...this.#origins];
  }

  /** Notes an origin that has storage, or may have. */
  note(url: string): void {
    const origin = originOf(url);
    if (origin === null) return;
    this.#origins.delete(origin);
    this.#origins.add(origin);
    const [oldest] = this.#origins;
    if (this.#origins.size > MOST && oldest !== undefined) this.#origins.delete(oldest);
  }

  #hear({ method, params }: CdpEvent): void {
    if (method !== "Target.targetCreated" && method !== "Target.targetInfoChanged") return;
    const told = Told.safeParse(params).data?.targetInfo;
    if (told && told.browserContextId === (this.#context ?? undefined)) this.note(told.url);
  }
}

/** Null for what has no storage of its own. Hosts of the pool's own tabs exist nowhere. */
function originOf(url: string): string | null {
  const parsed = URL.parse(url);
  const isOfWeb = parsed?.protocol === "http:" || parsed?.protocol === "https:";
  return isOfWeb && !parsed.hostname.endsWith(".invalid") ? parsed.origin : null;
}
