import {
  type StorageCookie,
  StorageCookie as Cookie,
} from "@svc/contract/browser/storage-cookie.ts";
import type { StorageState } from "@svc/contract/browser/storage-state.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { inTime } from "@svc/host-kit/deadline.ts";
import * as z from "zod";
import type { CdpMux } from "../cdp/mux.ts";
import { OwnClient } from "../cdp/own-client.ts";
import { FramesTab } from "./frames-tab.ts";
import { readingPage } from "./read-scripts.ts";
import type { VisitedOrigins } from "./visited.ts";
import { answer, bySecurity } from "./visits.ts";
import { OUTER_PAGE } from "./write-scripts.ts";

/** A page that is busy tells nothing of its frames. */
const FRAMES_MS = 500;

/** The state of a live browser, as JSON: it is neither parsed nor judged here, since it may be large. */
export interface ReadState {
  text: string;
  /** Cookies, origins and entries that no state can tell, or that are beyond its limits. */
  lost: number;
}

/** The state has more bytes than a profile may have. */
export class TooLarge extends Error {}

const BrowserCookies = z.object({
  cookies: z.array(
    z.object({
      name: z.string(),
      value: z.string(),
      domain: z.string(),
      path: z.string(),
      expires: z.number(),
      httpOnly: z.boolean(),
      secure: z.boolean(),
      sameSite: z.enum(["Strict", "Lax", "None"]).default("Lax"),
      partitionKey: z
        .object({ topLevelSite: z.string(), hasCrossSiteAncestor: z.boolean() })
        .optional(),
      partitionKeyOpaque: z.boolean().default(false),
    }),
  ),
});
type BrowserCookie = z.infer<typeof BrowserCookies>["cookies"][number];

/** The words of a page about its origin: how many entries are lost, and the others. */
const TOLD = /^(\d+) (.*)$/s;
const Pages = z.object({
  targetInfos: z.array(z.object({ targetId: z.string(), type: z.string() })),
});
const Attached = z.object({ sessionId: z.string() });

interface FrameTree {
  frame: { url: string };
  childFrames?: FrameTree[] | undefined;
}
const FrameTree: z.ZodType<FrameTree> = z.lazy(() =>
  z.object({ frame: z.object({ url: z.string() }), childFrames: z.array(FrameTree).optional() }),
);

/**
 * Reads the state of the default context while customers drive the browser. They see nothing of it, and no site is asked for
 * anything. `credentials`: passkeys, which no browser tells. `over`: nobody waits for the state any more.
 */
export async function readState(
  mux: CdpMux,
  visited: VisitedOrigins,
  credentials: StorageState["credentials"],
  over: AbortSignal,
): Promise<ReadState> {
  over.throwIfAborted();
  const pages = new Map<string, string>();
  const client: OwnClient = new OwnClient(mux, (event) => answer(client, pages, event));
  const leave = (): void => client.close();
  over.addEventListener("abort", leave, { once: true });
  try {
    await client.open();
    const cookies = await readCookies(mux);
    await noteFrames(client, visited);
    for (const { domain } of cookies.kept) visited.note(`https://${domain.replace(/^\./, "")}/`);
    const read = await readOrigins(mux, client, { pages, origins: visited.list });
    const rest = JSON.stringify({ cookies: cookies.kept, credentials });
    const text = `${rest.slice(0, -1)},"origins":[${read.origins.join()}]}`;
    return { text, lost: cookies.lost + read.lost };
  } finally {
    over.removeEventListener("abort", leave);
    client.close();
  }
}

async function readCookies(mux: CdpMux): Promise<{ kept: StorageCookie[]; lost: number }> {
  const { cookies } = BrowserCookies.parse(await mux.call("Storage.getCookies"));
  const kept = cookies.flatMap((cookie) => storedCookie(cookie) ?? []);
  return { kept, lost: cookies.length - kept.length };
}

/** Null for what no other browser would take. */
function storedCookie({
  partitionKey,
  partitionKeyOpaque,
  ...cookie
}: BrowserCookie): StorageCookie | null {
  if (partitionKeyOpaque) return null;
  const partition = partitionKey && {
    partitionKey: partitionKey.topLevelSite,
    _crHasCrossSiteAncestor: partitionKey.hasCrossSiteAncestor,
  };
  return Cookie.safeParse({ ...cookie, ...partition }).data ?? null;
}

/** Notes the origins of the frames that are open: a frame is no target of its own. */
async function noteFrames(client: OwnClient, visited: VisitedOrigins): Promise<void> {
  const { targetInfos } = Pages.parse(await client.call("Target.getTargets"));
  const pages = targetInfos.filter(({ type }) => type === "page");
  const note = ({ frame, childFrames = [] }: FrameTree): void => {
    visited.note(frame.url);
    for (const child of childFrames) note(child);
  };
  const look = async (targetId: string): Promise<void> => {
    const attach = { targetId, flatten: true };
    const attached = await client.call("Target.attachToTarget", attach);
    const { sessionId } = Attached.parse(attached);
    const { frameTree } = await client.call("Page.getFrameTree", {}, sessionId);
    note(FrameTree.parse(frameTree));
  };
  // A page that has closed meanwhile has no frames; one that is stopped does not answer.
  const looks = pages.map(({ targetId }) => look(targetId).catch(() => {}));
  await inTime(Promise.all(looks), FRAMES_MS);
}

async function readOrigins(
  mux: CdpMux,
  client: OwnClient,
  { pages, origins }: { pages: Map<string, string>; origins: string[] },
): Promise<{ origins: string[]; lost: number }> {
  const page = readingPage(LIMITS.profileStateBytes);
  for (const origin of origins) pages.set(`${origin}/`, page);
  const visits = bySecurity(origins).map(([scheme, some]) => {
    const tab = new FramesTab(client, {
      scheme,
      open: (params) => mux.openUnseen(client, () => client.call("Target.createTarget", params)),
      prepare: async (call) => {
        // A service worker would answer with the page of its site.
        await call("Network.enable");
        await call("Network.setBypassServiceWorker", { bypass: true });
        await call("Fetch.enable");
      },
    });
    pages.set(tab.url, OUTER_PAGE);
    return tab.visit(some, z.string());
  });
  const told = (await Promise.all(visits)).flatMap((some) => [...some]);
  if (told.some(([, report]) => report === "tooLarge")) throw new TooLarge();
  return kept(told);
}

/** The origins that have anything, the latest visited ones of too many. */
function kept(told: [string, string | null][]): { origins: string[]; lost: number } {
  const read = told.map(([, report]) => TOLD.exec(report ?? "1 "));
  const lost = read.reduce((sum, found) => sum + Number(found?.[1] ?? 1), 0);
  const origins = read.flatMap((found) => found?.[2] || []);
  const excess = Math.max(0, origins.length - LIMITS.profileOrigins);
  return { origins: origins.slice(excess), lost: lost + excess };
}
