import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Cdp } from "@svc/sdk/cdp.ts";
import { Svc } from "@svc/sdk/svc.ts";
import type { Tool, ToolContext, ToolResult } from "../../../mcp/tool.ts";
import { browserTools } from "../../../mcp/tools/browser/index.ts";
import { PATIENT, type TestGateway, testGateway } from "./gateway.ts";
import { PoolProcess } from "./pool.ts";

/** The answer of a tool: its facts, its text, its picture. */
export interface Answer {
  json: Record<string, unknown>;
  text: string;
  picture: Buffer | null;
}

/** A page of a site: its HTML, or an answer of another kind. */
export type SitePage =
  | string
  | { status?: number; headers?: Record<string, string>; body?: string };

type PageOf = (path: string, other: string) => SitePage | undefined;

/** A site that answers under two origins, `other` being the second. */
export async function startTwoNamedSite(pages: PageOf) {
  const server = createServer(({ url = "/" }, response) => {
    const page = pages(url, other) ?? { status: 404, body: "<title>Not here</title>Not here" };
    const {
      status = 200,
      headers = {},
      body = "",
    } = typeof page === "string" ? { body: page } : page;
    response.writeHead(status, { "content-type": "text/html; charset=utf-8", ...headers });
    response.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const [site, other] = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { site, other, allowed: `127.0.0.1:${port},localhost:${port}`, close };
}

/** A gateway, a pool and a site with two names, for tests of the tools that drive browsers. */
export class BrowserToolsRig {
  readonly gateway: TestGateway;
  readonly pool: PoolProcess;
  /** `http://127.0.0.1:…`, and the same pages on another origin. */
  readonly site: string;
  readonly other: string;
  readonly key: string;
  readonly #close: () => void;

  private constructor(
    parts: Pick<BrowserToolsRig, "gateway" | "pool" | "site" | "other" | "key">,
    close: () => void,
  ) {
    this.gateway = parts.gateway;
    this.pool = parts.pool;
    this.site = parts.site;
    this.other = parts.other;
    this.key = parts.key;
    this.#close = close;
  }

  static async start(pages: PageOf, env: Record<string, string> = {}): Promise<BrowserToolsRig> {
    const served = await startTwoNamedSite(pages);
    const { site, other } = served;
    const gateway = await testGateway(PATIENT);
    const pool = await PoolProcess.start(gateway, { SVC_EGRESS_ALLOW: served.allowed, ...env });
    const key = await gateway.newKey();
    return new BrowserToolsRig({ gateway, pool, site, other, key }, served.close);
  }

  async close(): Promise<void> {
    await this.pool.close();
    await this.gateway.close();
    this.#close();
  }

  svc(apiKey = this.key): Svc {
    return new Svc({ apiKey, baseUrl: this.gateway.url.origin });
  }

  /** Ends the process of the session's page. */
  async crash(sessionId: string): Promise<void> {
    const { cdpEndpoint } = await this.svc().browsers.connect(sessionId);
    const cdp = await Cdp.connect(cdpEndpoint);
    const { targetInfos } = await cdp.send("Target.getTargets");
    const known = targetInfos as { type: string; targetId: string }[];
    const page = await cdp.attach(known.find(({ type }) => type === "page")?.targetId ?? "");
    const crashed = page.once("Inspector.targetCrashed");
    await page.send("Inspector.enable");
    // The call is answered by nobody.
    page.send("Page.crash").catch(() => {});
    await crashed;
    cdp.close();
  }

  /** A tool as a caller with a key has it. */
  async call(
    name: string,
    args: object = {},
    more: Partial<ToolContext> & { key?: string } = {},
  ): Promise<Answer> {
    const tool: Tool | undefined = browserTools.find((one) => one.name === `svc_browser_${name}`);
    if (!tool) throw new Error(`there is no tool ${name}`);
    const { key = this.key, ...rest } = more;
    const context: ToolContext = {
      svc: this.svc(key),
      signal: new AbortController().signal,
      WebSocket: undefined,
      lease: { idleSeconds: 600 },
      opened: () => {},
      progress: () => {},
      ...rest,
    };
    return answerOf(await tool.run(tool.input.parse(args), context));
  }
}

function answerOf({ json, blocks = [] }: ToolResult): Answer {
  const texts = blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const pictures = blocks.flatMap((block) => (block.type === "image" ? [block.data] : []));
  const [data] = pictures;
  return {
    json: { ...json },
    text: texts.join("\n"),
    picture: data === undefined ? null : Buffer.from(data, "base64"),
  };
}
