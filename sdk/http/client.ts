import { type ApiError, apiError, ConnectionError, SvcError } from "../errors.ts";
import { type CallOptions, sleep, within } from "./deadline.ts";
import { mayRetry, retryAfterMs, waitMs } from "./retry.ts";
import type { Answered, Route, Sent } from "@svc/contract/operations/routes.ts";

/** Calls that wait for a browser or a machine take as long as the gateway may: `LIMITS.idempotentRunMs`. */
export const LONG_MS = 180_000;

/** Options of the client as it uses them. */
export interface HttpOptions {
  apiKey: string;
  baseUrl: string;
  browserUrl: string;
  maxRetries: number;
  /** Milliseconds of a call; null = the default of each. */
  timeoutMs: number | null;
  fetch: typeof fetch;
}

/** A request to a route. */
export interface RouteRequest<R extends Route> extends CallOptions {
  /** Values of the path's `:names`. */
  params?: Readonly<Record<string, string>> | undefined;
  /** Undefined ones are left out. */
  query?: Readonly<Record<string, string | number | undefined>> | undefined;
  body?: Sent<R> | undefined;
  headers?: Readonly<Record<string, string | undefined>> | undefined;
  /** The request creates something: all attempts carry one Idempotency-Key. */
  creates?: true;
  /** The request does more when it is sent twice. */
  isUnrepeatable?: true;
  /** The request waits for a browser or a machine. */
  isLong?: true;
}

/** A request to any URL. */
export interface RawRequest extends CallOptions {
  url: string;
  /** The request's name in errors, which end up in logs: ids and tokens of the URL are capabilities. */
  name?: string;
  init?: RequestInit & { duplex?: "half" };
  isUnrepeatable?: boolean | undefined;
  isLong?: boolean | undefined;
}

const ROUTES_OF_BROWSERS = /^\/(sessions|profiles|proxy|health)\b/;

/** Sends requests to both gateways, and sends them again where that is safe and can help. */
export class HttpClient {
  declare readonly options: HttpOptions;

  constructor(options: HttpOptions) {
    this.options = options;
  }

  /** Calls a route and reads its JSON. */
  call<R extends Route>(route: R, request: RouteRequest<R> = {}): Promise<Answered<R>> {
    return this.raw(this.request(route, request), async (response) => {
      const text = await response.text();
      if (text === "") return undefined as Answered<R>;
      try {
        return JSON.parse(text) as Answered<R>;
      } catch {
        throw new ConnectionError(`The answer of ${route} is cut or no JSON.`);
      }
    });
  }

  /** A request to a route, with the key. */
  request<R extends Route>(route: R, request: RouteRequest<R> = {}): RawRequest {
    const { apiKey, baseUrl, browserUrl } = this.options;
    const { params = {}, query = {}, body, headers = {}, creates } = request;
    const [method = "", path = ""] = route.split(" ");
    const filled = path.replace(/:(\w+)/g, (_all, name: string) =>
      encodeURIComponent(params[name] ?? ""),
    );
    const base = ROUTES_OF_BROWSERS.test(path) ? browserUrl : baseUrl;
    const search = queryText(query);
    return {
      ...request,
      name: route,
      url: `${base}${filled}${search && `?${search}`}`,
      init: {
        method,
        headers: withoutGaps({
          authorization: `Bearer ${apiKey}`,
          "content-type": body === undefined ? undefined : "application/json",
          "idempotency-key": creates && newKey(),
          ...headers,
        }),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      },
    };
  }

  /** Sends a request and reads its answer by `read`; what `read` throws as a `ConnectionError` is tried again too. */
  raw<Result>(
    { url, name, init = {}, isUnrepeatable = false, isLong, ...options }: RawRequest,
    read: (response: Response) => Promise<Result>,
  ): Promise<Result> {
    const { maxRetries, timeoutMs } = this.options;
    const ms = options.timeoutMs ?? timeoutMs ?? (isLong ? LONG_MS : 60_000);
    return within({ signal: options.signal, timeoutMs: ms }, async ({ signal, leftMs }) => {
      for (let attempt = 0; ; attempt += 1) {
        try {
          return await this.#attempt(url, { ...init, signal }, read);
        } catch (reason) {
          const error = whole(reason, name ?? new URL(url).origin);
          const isLast = attempt >= maxRetries || !mayRetry(error, !isUnrepeatable);
          const wait = waitMs(error, attempt);
          if (signal.aborted || isLast || wait >= leftMs()) throw error;
          await sleep(wait, signal);
        }
      }
    });
  }

  async #attempt<Result>(
    url: string,
    init: RequestInit,
    read: (response: Response) => Promise<Result>,
  ): Promise<Result> {
    // Browsers refuse a `fetch` that is called as a method.
    const { fetch: send } = this.options;
    const response = await send(url, init);
    if (!response.ok) throw errorOf(response, await response.text());
    return read(response);
  }
}

/** An error of the sdk as it is; whatever else `fetch` throws means that no whole answer came. */
const whole = (error: unknown, name: string): SvcError =>
  error instanceof SvcError
    ? error
    : new ConnectionError(`${name} failed: ${wordsOf(error)}`, { cause: error });

function errorOf({ status, headers }: Response, text: string): ApiError {
  const facts = {
    status,
    requestId: headers.get("x-request-id"),
    retryAfterMs: retryAfterMs(headers),
  };
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null) return apiError({ ...facts, body });
  } catch {
    // A load balancer's page: its status has to do.
  }
  return apiError({ ...facts, body: {} });
}

/** `fetch failed` says nothing; its cause does. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

function withoutGaps<Value>(
  all: Readonly<Record<string, Value | undefined>>,
): Record<string, Value> {
  const kept: Record<string, Value> = {};
  for (const [name, value] of Object.entries(all)) if (value !== undefined) kept[name] = value;
  return kept;
}

function queryText(query: Readonly<Record<string, string | number | undefined>>): string {
  const kept = Object.entries(withoutGaps(query)).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  return new URLSearchParams(kept).toString();
}

/** An Idempotency-Key. Node 18 and pages without TLS have no `crypto.randomUUID`; a key only has to be new in its org. */
export function newKey(): string {
  const random = (): string => Math.random().toString(36).slice(2);
  const { crypto } = globalThis as { crypto?: { randomUUID?: () => string } };
  return crypto?.randomUUID?.() ?? `${Date.now().toString(36)}-${random()}-${random()}`;
}
