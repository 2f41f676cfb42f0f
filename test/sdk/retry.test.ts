// The sdk's rule of trying again (document 1, Errors): what is tried again, how often, and what never is.
import { LIMITS } from "@svc/contract/limits.ts";
import { LONG_MS } from "@svc/sdk/http/client.ts";
import { backoffMs, retryAfterMs, waitMs } from "@svc/sdk/http/retry.ts";
import {
  ApiError,
  type Browser,
  CapacityError,
  ConcurrencyLimitError,
  ConnectionError,
  NotFoundError,
  Svc,
  SvcError,
  type SvcOptions,
  TimeoutError,
  UnavailableError,
} from "@svc/sdk/index.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Answer, FaultyServer } from "./faulty-server.ts";

let server: FaultyServer;
beforeAll(async () => {
  server = await FaultyServer.start();
  // Waits are as short as the jitter allows.
  vi.spyOn(Math, "random").mockReturnValue(0);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await server.close();
});

const svc = (options: SvcOptions = {}): Svc =>
  new Svc({ apiKey: "svc_live_a_b", baseUrl: server.url, ...options });
const HEALTHY = { status: 200, body: { ok: true } };
const CREATED = { status: 201, body: { sessionId: "s", expiresAt: "2026-01-01T00:00:00Z" } };
const refused = (status: number, body: object = { error: "no" }): Answer => ({ status, body });

describe("is tried again", () => {
  test.each<[string, Answer]>([
    ["502", refused(502)],
    ["503", refused(503)],
    ["504", refused(504)],
    ["a load balancer's page", { status: 502, text: "<html>Bad gateway</html>" }],
    ["a connection that is reset", "reset"],
    ["half an answer", "half"],
    ["an answer that is no JSON", { status: 200, text: '{"ok":' }],
    ["404 whose body says retryable", refused(404, { error: "", retryable: true })],
    ["409 whose body says retryable", refused(409, { error: "", retryable: true })],
    ["507 whose body says retryable", refused(507, { error: "", retryable: true })],
    ["400 whose body says retryable", refused(400, { error: "", retryable: true })],
  ])("%s", async (_name, fault) => {
    server.script(fault, fault, HEALTHY);
    expect(await svc().health()).toEqual({ ok: true });
    expect(server.got).toHaveLength(3);
  });

  test("as often as maxRetries says; the last error is thrown", async () => {
    server.script(refused(503, { error: "full", code: "NoCapacity", retryable: true }));
    await expect(svc({ maxRetries: 4 }).health()).rejects.toMatchObject({
      name: "UnavailableError",
      code: "NoCapacity",
      retryable: true,
    });
    expect(server.got).toHaveLength(5);
    server.script("reset");
    const lost = await svc({ maxRetries: 0 })
      .browsers.get("a-capability")
      .catch((error: unknown) => error);
    expect(lost).toBeInstanceOf(ConnectionError);
    // An id is not for logs.
    expect(String(lost)).toMatch(/GET \/sessions\/:id failed/);
    expect(server.got).toHaveLength(1);
  });

  test("with one Idempotency-Key for all attempts of a create, and another for the next one", async () => {
    const keys = () => server.got.map(({ headers }) => headers["idempotency-key"]);
    server.script("reset", refused(503), CREATED);
    await svc().browsers.create({ stealth: true });
    const [first, ...others] = keys();
    expect(first).toMatch(/^.{16,255}$/);
    expect(others).toEqual([first, first]);
    expect(server.got.map(({ body }) => body)).toEqual(Array(3).fill('{"stealth":true}'));
    server.script(CREATED);
    await svc().browsers.create();
    expect(keys()).not.toContain(first);
  });

  test("with one Idempotency-Key for all attempts of a save, which may be the caller's own", async () => {
    const record = { status: 200, body: { id: "s", status: "active" } };
    const saved = { status: 200, body: { profileId: "p", version: 1 } };
    const keys = () => server.got.slice(1).map(({ headers }) => headers["idempotency-key"]);
    server.script(record, "reset", saved);
    await (await svc().browsers.connect("s")).saveProfile();
    const [first, second] = keys();
    expect(first).toMatch(/^.{16,255}$/);
    expect(second).toBe(first);
    server.script(record, "reset", saved);
    const headers = { "idempotency-key": "own" };
    await (await svc().browsers.connect("s")).saveProfile({}, { headers });
    expect(keys()).toEqual(["own", "own"]);
  });
});

describe("is never tried again", () => {
  test("429, whatever its body says; the error names plan, cap and holders", async () => {
    const body = {
      error: "At the cap.",
      code: "ConcurrencyLimitExceeded",
      retryable: true,
      plan: "free",
      cap: 3,
      holders: ["one", "two"],
    };
    server.script({ status: 429, body, headers: { "retry-after": "0", "x-request-id": "r1" } });
    const error = await svc({ maxRetries: 5 })
      .browsers.create()
      .catch((reason: unknown) => reason);
    expect(server.got).toHaveLength(1);
    expect(error).toBeInstanceOf(ConcurrencyLimitError);
    expect(error).toMatchObject({ plan: "free", cap: 3, holders: ["one", "two"], requestId: "r1" });
    expect(String(error)).toMatch(/plan free, cap 3, held by one, two/);
  });

  test.each([400, 401, 402, 403, 404, 409, 413, 422, 428, 500, 501, 507])(
    "%i without retryable",
    async (status) => {
      server.script(refused(status));
      await expect(svc().health()).rejects.toMatchObject({ status, retryable: false });
      expect(server.got).toHaveLength(1);
    },
  );

  test("503 whose body says that it will not help", async () => {
    server.script(refused(503, { error: "", retryable: false }));
    await expect(svc().health()).rejects.toBeInstanceOf(UnavailableError);
    expect(server.got).toHaveLength(1);
  });

  test.each<[string, (client: Svc) => Promise<unknown>]>([
    ["exec", (client) => client.sandboxes.at("x").exec("rm", ["a"])],
    ["profiles.create", (client) => client.profiles.create("a")],
    ["volumes.create", (client) => client.volumes.create()],
    ["profiles.save", (client) => client.profiles.save("prof_1", { cookies: [] })],
    ["profiles.restore", (client) => client.profiles.restore("prof_1", 1)],
  ])("%s where it may have been done already: a reset and a 504", async (_name, call) => {
    for (const fault of ["reset", refused(504)] as const) {
      server.script(fault);
      await expect(call(svc())).rejects.toBeInstanceOf(SvcError);
      expect(server.got).toHaveLength(1);
    }
  });

  test.each<[string, (browser: Browser) => Promise<unknown>]>([
    ["autologin", (browser) => browser.autologin({ site: "a.test" })],
    ["handoffs.begin", (browser) => browser.handoffs.begin()],
  ])("%s of a browser where it may have been done already", async (_name, call) => {
    server.script({ status: 200, body: { id: "x" } });
    const browser = await svc().browsers.connect("x");
    for (const fault of ["reset", refused(504)] as const) {
      server.script(fault);
      await expect(call(browser)).rejects.toBeInstanceOf(SvcError);
      expect(server.got).toHaveLength(1);
    }
  });
});

describe("waits", () => {
  test("are full jitter up to a limit that doubles from 0.5 s to 8 s", () => {
    const random = vi.spyOn(Math, "random").mockReturnValue(1);
    expect([0, 1, 2, 3, 4, 5, 50].map(backoffMs)).toEqual([
      500, 1000, 2000, 4000, 8000, 8000, 8000,
    ]);
    random.mockReturnValue(0);
    expect(backoffMs(9)).toBe(0);
  });

  test("obey Retry-After up to 30 s, by the service's own clock", () => {
    const asked = (headers: Record<string, string>) => {
      const error = new ApiError({
        status: 503,
        body: {},
        requestId: null,
        retryAfterMs: retryAfterMs(new Headers(headers)),
      });
      return waitMs(error, 0);
    };
    expect(asked({ "retry-after": "5" })).toBe(5_000);
    expect(asked({ "retry-after": "3600" })).toBe(30_000);
    const date = "Wed, 21 Oct 2015 07:28:00 GMT";
    expect(asked({ "retry-after": "Wed, 21 Oct 2015 07:28:10 GMT", date })).toBe(10_000);
    expect(asked({ "retry-after": "Wed, 21 Oct 2015 07:00:00 GMT", date })).toBe(0);
    expect(asked({ "retry-after": "soon" })).toBe(0);
  });

  test("that would end after the deadline are not begun: the service's error is thrown at once", async () => {
    server.script({ ...(refused(503) as object), status: 503, headers: { "retry-after": "30" } });
    await expect(svc().health({ timeoutMs: 20_000 })).rejects.toBeInstanceOf(UnavailableError);
    expect(server.got).toHaveLength(1);
  });

  test("for machines are as long as a gateway may take", () => {
    expect(LONG_MS).toBe(LIMITS.idempotentRunMs);
  });
});

describe("ends", () => {
  test("by an abort before, during the request and during the wait, with the signal's reason", async () => {
    const reason = new Error("enough");
    server.script(HEALTHY);
    await expect(svc().health({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(server.got).toHaveLength(0);

    server.script("silence");
    const during = new AbortController();
    const asked = svc().health({ signal: during.signal });
    asked.catch(() => {});
    await server.has(1);
    during.abort(reason);
    await expect(asked).rejects.toBe(reason);

    server.script({ status: 503, headers: { "retry-after": "30" } });
    const waiting = new AbortController();
    const again = svc({ timeoutMs: 100_000 }).health({ signal: waiting.signal });
    again.catch(() => {});
    await server.has(1);
    waiting.abort(reason);
    await expect(again).rejects.toBe(reason);
    expect(server.got).toHaveLength(1);
  });

  test("at the deadline over all attempts, also when a clock jumps", async () => {
    server.script("silence");
    const now = Date.now();
    const clock = vi.spyOn(Date, "now").mockReturnValue(now + 86_400_000);
    await expect(svc().health({ timeoutMs: 50 })).rejects.toBeInstanceOf(TimeoutError);
    clock.mockReturnValue(now - 86_400_000);
    server.script(refused(503), HEALTHY);
    expect(await svc().health()).toEqual({ ok: true });
    clock.mockRestore();
  });

  test("of a client without any listener on the caller's signal", async () => {
    server.script(HEALTHY);
    const { signal } = new AbortController();
    const remove = vi.spyOn(signal, "removeEventListener");
    const add = vi.spyOn(signal, "addEventListener");
    await svc().health({ signal });
    expect(remove.mock.calls.length).toBe(add.mock.calls.length);
  });
});

describe("the client", () => {
  test("takes key and URLs from the environment, and says which key is missing", async () => {
    vi.stubEnv("SVC_API_KEY", "");
    expect(() => new Svc({ baseUrl: server.url })).toThrow(/SVC_API_KEY/);
    vi.stubEnv("SVC_API_KEY", "svc_live_c_d");
    vi.stubEnv("SVC_BASE_URL", `${server.url}/vm/`);
    vi.stubEnv("SVC_BROWSER_URL", `${server.url}/browser`);
    server.script({ status: 200, body: { ok: true } });
    await new Svc().health();
    await new Svc().volumes.get("vol 1/?");
    expect(server.got.map(({ path }) => path)).toEqual([
      "/browser/health",
      "/vm/volumes/vol%201%2F%3F",
    ]);
    expect(server.got[0]?.headers.authorization).toBe("Bearer svc_live_c_d");
    vi.unstubAllEnvs();
    expect(() => new Svc({ apiKey: "k", baseUrl: "localhost:1" })).toThrow(/http/);
  });

  test("throws the class of each status, with the answer's facts", async () => {
    const body = { error: "Nothing.", code: "InvalidSessionId", detail: "d", more: 1 };
    server.script({ status: 404, body, headers: { "x-request-id": "r2" } });
    const error = await svc()
      .browsers.release("nobody")
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      name: "NotFoundError",
      message: "Nothing.",
      status: 404,
      code: "InvalidSessionId",
      detail: "d",
      retryable: false,
      requestId: "r2",
      body,
    });
    server.script(refused(507, { error: "small", hint: "Ask for less." }));
    const small = await svc()
      .sandboxes.create()
      .catch((reason: unknown) => reason);
    expect(small).toBeInstanceOf(CapacityError);
    expect(String(small)).toContain("Ask for less.");
  });
});
