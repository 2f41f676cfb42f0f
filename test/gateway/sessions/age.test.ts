import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { mintSessionId } from "@svc/contract/tokens.ts";
import { expect, onTestFinished, test, vi } from "vitest";
import { call, json, newOrg, newPool } from "../../support/worker/gateway.ts";
import { SIGNING_SECRET } from "../../support/secrets.ts";

const DAY_MS = 86_400_000;
const HANDSHAKE = { upgrade: "websocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };

const upgrade = (path: string) => call(path, { headers: HANDSHAKE });

/** A live session whose id was minted some time ago. */
async function aged(ageMs: number) {
  const pool = await newPool();
  const { key, orgId: org } = await newOrg("professional");
  const createdAt = Date.now() - ageMs;
  const id = await mintSessionId(SIGNING_SECRET, { org, issuedAt: createdAt });
  const answer = await env.SESSIONS.getByName(id).create({
    id,
    org,
    plan: "professional",
    kind: "fast",
    cap: 50,
    createdAt,
    lifetimeMs: DAY_MS,
    acquireMs: ageMs + 5000,
    leaseIdleMs: null,
    wireVersion: null,
    statePath: null,
    profileId: null,
    savesProfile: false,
    allowedDomains: null,
    proxy: null,
    captcha: false,
    recording: null,
  });
  expect(answer).toHaveProperty("created");
  return { id, key, pool };
}

test("a session older than 90 minutes is read and released as any other; only its endpoints are gone", async () => {
  const { id, key } = await aged(LIMITS.socketUrlAgeMs + 60_000);
  const response = await call(`/sessions/${id}`, { bearer: key });
  expect(response.status).toBe(200);
  const record = await response.json();
  expect(record).toMatchObject({ status: "active", kind: "fast" });
  expect(record).not.toHaveProperty("wsEndpoint");
  expect(record).not.toHaveProperty("cdpEndpoint");
  expect((await upgrade(`/ws/${id}`)).status).toBe(401);
  expect((await call(`/sessions/${id}`, { method: "DELETE", bearer: key })).status).toBe(204);
  const released = await call(`/sessions/${id}`, { bearer: key });
  expect(await released.json()).toMatchObject({ status: "released" });
});

test("tools say of a session older than 90 minutes that they cannot use it, and what they say to do works", async () => {
  const { id: sessionId, key, pool } = await aged(LIMITS.socketUrlAgeMs + 60_000);
  await pool.steer({ state: { status: 200, body: '{"cookies":[],"origins":[]}' } });
  const tool = async (name: string, args: object = {}): Promise<string> => {
    const params = { name: `svc_browser_${name}`, arguments: { sessionId, ...args } };
    const asked = json({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    return (await call("/mcp", { ...asked, headers, bearer: key })).text();
  };
  const refused = await tool("read_page");
  expect(refused).toContain("BrowserTooOld: Tools use a browser for 90 minutes");
  for (const next of ["save_profile", "close", "create"])
    expect(refused).toContain(`svc_browser_${next}`);
  const saved = await tool("save_profile", { name: "kept" });
  expect(saved).toMatch(/"structuredContent":\{[^}]*"version":1\b/);
  expect(await tool("close")).toContain("released");
  const record = await call(`/sessions/${sessionId}`, { bearer: key });
  expect(await record.json()).toMatchObject({ status: "released" });
});

test.each(["ws", "cdp"])(
  "a socket of /%s that is open when its URL becomes too old stays open",
  async (name) => {
    const { id } = await aged(LIMITS.socketUrlAgeMs - 60_000);
    const response = await upgrade(`/${name}/${id}`);
    expect(response.status).toBe(101);
    const socket = response.webSocket;
    if (!socket) throw new Error("no socket");
    socket.accept();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect((await upgrade(`/${name}/${id}`)).status).toBe(401);
    const echo = new Promise((resolve) => {
      socket.addEventListener("message", ({ data }) => resolve(data), { once: true });
    });
    socket.send("still");
    expect(await echo).toBe("still");
    socket.close();
  },
);
