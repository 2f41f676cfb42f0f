import type { StorageOrigin } from "@svc/contract/browser/storage-origin.ts";
import * as z from "zod";
import type { CdpMux } from "../cdp/mux.ts";
import { type CdpEvent, OwnClient } from "../cdp/own-client.ts";
import { OUTER_PAGE, restoringPage } from "./page-scripts.ts";
import { type Reports, SeedingTab } from "./seeding-tab.ts";

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
        const tab = new SeedingTab(client, scheme);
        pages.set(tab.url, OUTER_PAGE);
        return tab.visit(some);
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
function bySecurity(origins: string[]): ["http" | "https", string[]][] {
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

function answer(client: OwnClient, pages: Map<string, string>, event: CdpEvent): void {
  const paused = Paused.safeParse(event.params).data;
  if (event.method !== "Fetch.requestPaused" || !paused) return;
  const { requestId, request } = paused;
  const page = pages.get(request.url);
  const html = [{ name: "content-type", value: "text/html; charset=utf-8" }];
  const answered =
    page === undefined
      ? client.call("Fetch.failRequest", { requestId, errorReason: "BlockedByClient" })
      : client.call("Fetch.fulfillRequest", {
          requestId,
          responseCode: 200,
          responseHeaders: html,
          body: Buffer.from(page).toString("base64"),
        });
  // A request that is gone wants no answer.
  answered.catch(() => {});
}
