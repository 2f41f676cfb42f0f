import type { StorageOrigin } from "@svc/contract/browser/storage-origin.ts";
import * as z from "zod";
import type { JsonObject } from "../cdp/envelope.ts";
import type { CdpMux } from "../cdp/mux.ts";
import { type CdpEvent, OwnClient } from "../cdp/own-client.ts";
import { FramesTab } from "./frames-tab.ts";
import { OUTER_PAGE, restoringPage } from "./write-scripts.ts";

/** How many entries were lost, by origin; null for an origin that could not be visited. */
export type Reports = Map<string, number | null>;

const Paused = z.object({ requestId: z.string(), request: z.object({ url: z.string() }) });

/**
 * Visits origins in the default context and fills their storages. Every request of the browser is answered here
 * meanwhile, and other clients do not see the tabs.
 */
export async function visitOrigins(mux: CdpMux, stored: StorageOrigin[]): Promise<Reports> {
  const byOrigin = new Map(stored.map((one) => [new URL(one.origin).origin, one]));
  const pages = new Map<string, string>();
  const reports: Reports = new Map();
  for (const [origin, one] of byOrigin) {
    const page = pageOf(one);
    if (page === null) reports.set(origin, null);
    else pages.set(`${origin}/`, page);
  }
  const origins = [...byOrigin.keys()].filter((origin) => !reports.has(origin));
  const client: OwnClient = new OwnClient(mux, (event) => answer(client, pages, event));
  try {
    await client.open();
    return await mux.unseen(client, async () => {
      await client.call("Fetch.enable");
      const visits = bySecurity(origins).map(([scheme, some]) => {
        const open = (params: JsonObject) => client.call("Target.createTarget", params);
        const tab = new FramesTab(client, { scheme, open });
        pages.set(tab.url, OUTER_PAGE);
        return tab.visit(some, z.number());
      });
      const visited = await Promise.all(visits);
      return new Map([...reports, ...visited.flatMap((some) => [...some])]);
    });
  } finally {
    client.close();
  }
}

/** Null for values that are nested too deeply to be written. */
function pageOf(stored: StorageOrigin): string | null {
  try {
    return restoringPage(stored);
  } catch {
    return null;
  }
}

/** Origins by the scheme of the page around them: with one that is not secure no frame is secure, in a secure one only secure frames load. */
export function bySecurity(origins: string[]): ["http" | "https", string[]][] {
  const secure = origins.filter(isSecure);
  const other = origins.filter((origin) => !isSecure(origin));
  const groups: ["http" | "https", string[]][] = [
    ["https", secure],
    ["http", other],
  ];
  return groups.filter(([, some]) => some.length > 0);
}

function isSecure(origin: string): boolean {
  const { protocol, hostname } = new URL(origin);
  return protocol === "https:" || /^(.+\.)?localhost$|^127\.|^\[::1\]$/.test(hostname);
}

/** Answers a request that waits: with a page, or not at all. */
export function answer(
  client: OwnClient,
  pages: ReadonlyMap<string, string>,
  event: CdpEvent,
): void {
  const paused = Paused.safeParse(event.params).data;
  if (event.method !== "Fetch.requestPaused" || !paused) return;
  const { requestId, request } = paused;
  const sessionId = event.sessionId ?? undefined;
  const page = pages.get(request.url);
  const answered =
    page === undefined
      ? client.call("Fetch.failRequest", { requestId, errorReason: "BlockedByClient" }, sessionId)
      : client.call("Fetch.fulfillRequest", { requestId, ...documentOf(page) }, sessionId);
  // A request that is gone wants no answer.
  answered.catch(() => {});
}

const documentOf = (page: string): JsonObject => ({
  responseCode: 200,
  responseHeaders: [{ name: "content-type", value: "text/html; charset=utf-8" }],
  body: Buffer.from(page).toString("base64"),
});
