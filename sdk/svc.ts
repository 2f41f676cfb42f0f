import { Browsers } from "./browsers.ts";
import type { Context, WebSocketClass } from "./context.ts";
import { Desktops } from "./desktops.ts";
import { SvcError } from "./errors.ts";
import { HttpClient } from "./http/client.ts";
import type { CallOptions } from "./http/deadline.ts";
import type { Answered } from "@svc/contract/operations/routes.ts";
import { Profiles } from "./profiles.ts";
import { Sandboxes } from "./sandboxes.ts";
import { Proxy, readUsage, type UsageSpan } from "./service.ts";
import { Snapshots } from "./snapshots.ts";
import { Templates } from "./templates.ts";
import { Volumes } from "./volumes.ts";

/** Options of the client. */
export interface SvcOptions {
  /** `svc_live_…`; `SVC_API_KEY` of the environment unless said. */
  apiKey?: string | undefined;
  /** The URL of the VM gateway, and of both unless `browserUrl` is said: `SVC_BASE_URL`, or `http://127.0.0.1:8787`. */
  baseUrl?: string | undefined;
  /** The URL of the browser gateway: `SVC_BROWSER_URL`, or `baseUrl`. */
  browserUrl?: string | undefined;
  /** How often a call is tried again, at most; 2 unless said. */
  maxRetries?: number | undefined;
  /** Milliseconds that a call may take, all attempts together. Unless said 60,000, and 180,000 where a browser or a machine is waited for. */
  timeoutMs?: number | undefined;
  /** Instead of the runtime's own. */
  fetch?: typeof fetch | undefined;
  /** Instead of the runtime's own: Node before 22 has none, and takes that of the package `ws`. */
  WebSocket?: WebSocketClass | undefined;
}

const LOCAL_URL = "http://127.0.0.1:8787";

/** The service: browsers and machines on demand, by one key. Nothing is sent before the first call. */
export class Svc {
  readonly #http: HttpClient;
  /** Browser sessions. */
  declare readonly browsers: Browsers;
  /** Cookies and storage that outlive sessions. */
  declare readonly profiles: Profiles;
  /** The managed proxy. */
  declare readonly proxy: Proxy;
  /** MicroVMs. */
  declare readonly sandboxes: Sandboxes;
  /** MicroVMs with a screen. */
  declare readonly desktops: Desktops;
  /** Storage that outlives machines. */
  declare readonly volumes: Volumes;
  /** Saved machines. */
  declare readonly snapshots: Snapshots;
  /** Machines that are prepared. */
  declare readonly templates: Templates;

  constructor(options: SvcOptions = {}) {
    const env = environment();
    const apiKey = options.apiKey ?? env["SVC_API_KEY"] ?? "";
    if (apiKey === "")
      throw new SvcError("There is no API key: pass `apiKey`, or set SVC_API_KEY.");
    const baseUrl = urlOf(options.baseUrl ?? (env["SVC_BASE_URL"] || LOCAL_URL));
    const browserUrl = urlOf(options.browserUrl ?? (env["SVC_BROWSER_URL"] || baseUrl));
    this.#http = new HttpClient({
      apiKey,
      baseUrl,
      browserUrl,
      maxRetries: options.maxRetries ?? 2,
      timeoutMs: options.timeoutMs ?? null,
      fetch: options.fetch ?? fetch,
    });
    const context: Context = { http: this.#http, WebSocket: options.WebSocket };
    this.browsers = new Browsers(context);
    this.profiles = new Profiles(this.#http);
    this.proxy = new Proxy(this.#http);
    this.sandboxes = new Sandboxes(context);
    this.desktops = new Desktops(context);
    this.volumes = new Volumes(this.#http);
    this.snapshots = new Snapshots(this.#http);
    this.templates = new Templates(this.#http);
  }

  /** Whether the browser gateway is alive, and its idle slots (document 1, GET /health). Look at `fast.idle` or `stealth.idle`. */
  health(options: CallOptions = {}): Promise<Answered<"GET /health">> {
    return this.#http.call("GET /health", options);
  }

  /** The usage of the org, its cost in cents, and what is kept now. */
  usage(span: UsageSpan = {}): Promise<Answered<"GET /usage">> {
    return readUsage(this.#http, span);
  }
}

function environment(): Readonly<Record<string, string | undefined>> {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env ?? {};
}

function urlOf(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new SvcError(`${text} is no URL of the service: it begins with http:// or https://.`);
  return text.replace(/\/+$/, "");
}
