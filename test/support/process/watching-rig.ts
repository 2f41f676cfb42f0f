import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { ObserveToken } from "@svc/contract/browser/observer.ts";
import { LiveToken } from "@svc/contract/browser/take-over.ts";
import { SessionCreated, SessionRecord } from "@svc/contract/browser/session.ts";
import { type Browser, type Page, chromium } from "playwright-core";
import type { Site } from "../fakes/site.ts";
import { PATIENT, type TestGateway, testGateway } from "./gateway.ts";
import { Observer } from "./observer.ts";
import { PoolProcess } from "./pool.ts";
import { stateFolder } from "./state-folder.ts";
import { startWatchingSite } from "./watching-site.ts";

/** A session, and its client of `/ws`. */
export interface Driven {
  id: string;
  cdpEndpoint: string;
  browser: Browser;
  page: Page;
}

/** A gateway, a pool and a site, for tests that watch sessions and take them over. */
export class WatchingRig {
  gateway: TestGateway;
  readonly pool: PoolProcess;
  readonly site: Site;
  readonly key: string;
  readonly #stateDir: string;

  private constructor(
    parts: { gateway: TestGateway; pool: PoolProcess; site: Site },
    key: string,
    stateDir: string,
  ) {
    this.gateway = parts.gateway;
    this.pool = parts.pool;
    this.site = parts.site;
    this.key = key;
    this.#stateDir = stateDir;
  }

  /** `env`: of the pool. `given`: another site than that of those who watch. */
  static async start(env: Record<string, string> = {}, given?: Site): Promise<WatchingRig> {
    const site = given ?? (await startWatchingSite());
    const stateDir = await mkdtemp(join(stateFolder(), "svc-"));
    const gateway = await testGateway(PATIENT, { port: 0, stateDir });
    const pool = await PoolProcess.start(gateway, { SVC_EGRESS_ALLOW: site.address, ...env });
    return new WatchingRig({ gateway, pool, site }, await gateway.newKey(), stateDir);
  }

  async close(): Promise<void> {
    await this.pool.close();
    await this.gateway.close();
    await rm(this.#stateDir, { recursive: true, force: true });
    this.site.close();
  }

  async restartGateway(): Promise<void> {
    const place = { port: Number(this.gateway.url.port), stateDir: this.#stateDir };
    this.gateway = await testGateway(PATIENT, place);
  }

  call(
    path: string,
    method = "GET",
    { bearer = this.key, body = null }: { bearer?: string; body?: object | null } = {},
  ): Promise<Response> {
    const headers = { authorization: `Bearer ${bearer}` };
    const init = { method, headers, body: body && JSON.stringify(body) };
    return fetch(new URL(path, this.gateway.url), init);
  }

  async created(ask: object = {}): Promise<SessionCreated> {
    const created = await this.call("/sessions", "POST", { body: ask });
    return SessionCreated.parse(await created.json());
  }

  async driven(path = "still", ask: object = {}): Promise<Driven> {
    const { sessionId: id, wsEndpoint, cdpEndpoint } = await this.created(ask);
    const browser = await chromium.connect(wsEndpoint);
    const page = browser.contexts()[0]?.pages()[0];
    if (!page) throw new Error("a new session has a page");
    await page.goto(this.site.url + path);
    return { id, cdpEndpoint, browser, page };
  }

  release(id: string): Promise<Response> {
    return this.call(`/sessions/${id}`, "DELETE");
  }

  async read(id: string): Promise<SessionRecord> {
    return SessionRecord.parse(await (await this.call(`/sessions/${id}`)).json());
  }

  async observeToken(id: string): Promise<ObserveToken> {
    const answer = await this.call(`/sessions/${id}/observe-token`, "POST");
    return ObserveToken.parse(await answer.json());
  }

  async liveToken(id: string, body: object = {}): Promise<LiveToken> {
    const answer = await this.call(`/sessions/${id}/live-token`, "POST", { body });
    return LiveToken.parse(await answer.json());
  }

  /** The URL of a socket of the gateway. */
  socketUrl(path: string): string {
    return new URL(path, this.gateway.url).href.replace("http", "ws");
  }

  /** Watches by the key of the org. */
  watch(id: string, { acks = true, query = "" } = {}): Promise<Observer> {
    return Observer.open(this.socketUrl(`/ws/observe/${id}${query}`), { key: this.key, acks });
  }
}

/** What the upgrade of a viewer answers. */
export async function refusalOf(url: string, bearer?: string): Promise<unknown> {
  try {
    const observer = await Observer.open(url, bearer ? { key: bearer } : {});
    observer.close();
    return "open";
  } catch (error) {
    return error instanceof Error ? error.message : error;
  }
}

/** The claims of a viewer's token, as anybody can read them. */
export const claimsOf = (token: string): string =>
  Buffer.from(token.split(".")[1] ?? "", "base64url").toString();
