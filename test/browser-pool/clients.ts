import type { WireVersion } from "@svc/contract/browser/wire-versions.ts";
import { type Browser, type Page, chromium } from "playwright-core";
import { chromium as chromium163 } from "playwright-core-1.63";
import { chromium as chromium164 } from "playwright-core-1.64";
import puppeteer, { type Browser as Puppeteer } from "puppeteer-core";
import WebSocket from "ws";
import type { Rig } from "./rig.ts";

// Their types differ in what no test uses.
const alike = (older: unknown): typeof chromium => older as typeof chromium;
const PLAYWRIGHTS = {
  "1.65": chromium,
  "1.64": alike(chromium164),
  "1.63": alike(chromium163),
} satisfies Record<WireVersion, typeof chromium>;

/** The browsers of a Playwright of this minor. */
export const playwrightOf = (version: WireVersion): typeof chromium => PLAYWRIGHTS[version];

/** A Playwright of this minor, over its own protocol. */
export async function byWireOf(version: WireVersion, rig: Rig, id: string): Promise<Browser> {
  const { url, headers } = await rig.socket("ws", id);
  return PLAYWRIGHTS[version].connect(url, { headers });
}

/** The newest. */
export function byWire(rig: Rig, id: string): Promise<Browser> {
  return byWireOf("1.65", rig, id);
}

/** Playwright over CDP. */
export async function byCdp(rig: Rig, id: string): Promise<Browser> {
  const { url, headers } = await rig.socket("cdp", id);
  return chromium.connectOverCDP(url, { headers });
}

/** Puppeteer over CDP. */
export async function byPuppeteer(rig: Rig, id: string): Promise<Puppeteer> {
  const { url, headers } = await rig.socket("cdp", id);
  return puppeteer.connect({ browserWSEndpoint: url, headers, defaultViewport: null });
}

/** The page that every new session has. */
export function firstPage(browser: Browser): Page {
  const page = browser.contexts()[0]?.pages()[0];
  if (!page) throw new Error("the session has no page");
  return page;
}

interface Reply {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
  sessionId?: string;
}

/** A raw CDP client that keeps everything it is told. */
export class RawCdp {
  readonly socket: WebSocket;
  readonly heard: Reply[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #nextId = 1;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.on("close", (code, reason) => resolve({ code, reason: String(reason) }));
    });
    socket.on("error", () => {});
    socket.on("message", (data: Buffer) => {
      const reply: Reply = JSON.parse(data.toString());
      this.heard.push(reply);
      if (reply.id !== undefined) this.#waiting.get(reply.id)?.(reply);
    });
  }

  static async open(rig: Rig, id: string): Promise<RawCdp> {
    const { url, headers } = await rig.socket("cdp", id);
    const socket = new WebSocket(url, { headers, maxPayload: 256 * 1024 * 1024 });
    const client = new RawCdp(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", () => resolve());
      socket.once("error", reject);
    });
    return client;
  }

  call(method: string, params: object = {}, sessionId?: string): Promise<Reply> {
    const id = this.#nextId++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.socket.send(JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) }));
    });
  }

  /** Attaches to the first page and returns the session. */
  async attach(): Promise<string> {
    const { result } = await this.call("Target.getTargets");
    const infos = result?.targetInfos as { type: string; targetId: string }[];
    const targetId = infos.find((info) => info.type === "page")?.targetId;
    const attached = await this.call("Target.attachToTarget", { targetId, flatten: true });
    return String(attached.result?.sessionId);
  }
}
