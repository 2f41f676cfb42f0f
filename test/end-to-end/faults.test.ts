import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { Health } from "@svc/contract/browser/health.ts";
import { SessionCreated, SessionRecord } from "@svc/contract/browser/session.ts";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { chromium } from "playwright-core";
import { afterAll, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { PATIENT, testGateway } from "../support/process/gateway.ts";
import { PoolProcess } from "../support/process/pool.ts";
import { killIfThere } from "../support/process/process-tree.ts";
import { stateFolder } from "../support/process/state-folder.ts";
import { startSite } from "../support/fakes/site.ts";

const PATIENCE = { timeout: 90_000, interval: 200 };
// Several of these waits, and the restart of a gateway.
vi.setConfig({ testTimeout: 400_000 });

const site = await startSite();
const stateDir = await mkdtemp(join(stateFolder(), "svc-"));
let gateway = await testGateway(PATIENT, { port: 0, stateDir });
const pool = await PoolProcess.start(gateway, { SVC_EGRESS_ALLOW: site.address });
const key = await gateway.newKey();
afterAll(async () => {
  await pool.close();
  await gateway.close();
  await rm(stateDir, { recursive: true, force: true });
  site.close();
});

const call = (path: string, method = "GET") =>
  fetch(new URL(path, gateway.url), { method, headers: { authorization: `Bearer ${key}` } });

async function create(): Promise<SessionCreated> {
  const response = await call("/sessions", "POST");
  expect(response.status).toBe(201);
  return SessionCreated.parse(await response.json());
}

async function read(id: string): Promise<SessionRecord> {
  return SessionRecord.parse(await (await call(`/sessions/${id}`)).json());
}

async function opened(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url);
  await once(socket, "open");
  return socket;
}

test("a browser that is killed: the socket says why, the session is released, the pool is refilled", async () => {
  const session = await create();
  const socket = await opened(session.cdpEndpoint);
  const closed = once(socket, "close");
  for (const pid of await pool.processes("--remote-debugging-pipe")) killIfThere(pid);
  const [code, reason] = await closed;
  expect([code, String(reason)]).toEqual([CLOSE_CODES.gone, "The browser crashed."]);
  await vi.waitFor(
    async () => expect((await read(session.sessionId)).closeReason).toBe("browser_crashed"),
    PATIENCE,
  );
  await vi.waitFor(async () => {
    const health = Health.parse(await (await call("/health")).json());
    expect(health.fast).toMatchObject({ idle: 2, busy: 0 });
  }, PATIENCE);
});

test("a client that vanishes keeps its session, and finds the same tabs at the same URL", async () => {
  const session = await create();
  const browser = await chromium.connectOverCDP(session.cdpEndpoint);
  await browser.contexts()[0]?.pages()[0]?.goto(site.url);
  const vanishing = await opened(session.cdpEndpoint);
  await browser.close();
  vanishing.terminate();
  const again = await chromium.connectOverCDP(session.cdpEndpoint);
  expect(again.contexts()[0]?.pages()[0]?.url()).toBe(site.url);
  expect((await read(session.sessionId)).status).toBe("active");
  await call(`/sessions/${session.sessionId}`, "DELETE");
});

test("a gateway that restarts knows the session, and its URL leads to the same tabs", async () => {
  const session = await create();
  const before = await chromium.connect(session.wsEndpoint);
  await before.contexts()[0]?.pages()[0]?.goto(site.url);
  const gone = new Promise<void>((resolve) => before.once("disconnected", () => resolve()));
  const port = Number(gateway.url.port);
  await gateway.close();
  await gone;
  gateway = await testGateway(PATIENT, { port, stateDir });
  const after = await vi.waitFor(() => chromium.connect(session.wsEndpoint), PATIENCE);
  expect(after.contexts()[0]?.pages()[0]?.url()).toBe(site.url);
  expect((await read(session.sessionId)).status).toBe("active");
  await call(`/sessions/${session.sessionId}`, "DELETE");
  expect((await read(session.sessionId)).status).toBe("released");
});

test("a pool that is killed and starts again has lost its sessions, and serves new ones", async () => {
  const session = await create();
  const socket = await opened(session.cdpEndpoint);
  const closed = once(socket, "close");
  await pool.kill("SIGKILL");
  await closed;
  await pool.restart();
  await vi.waitFor(
    async () => expect((await read(session.sessionId)).closeReason).toBe("pool_lost"),
    PATIENCE,
  );
  const next = await create();
  const browser = await chromium.connect(next.wsEndpoint);
  await browser.contexts()[0]?.pages()[0]?.goto(site.url);
  await call(`/sessions/${next.sessionId}`, "DELETE");
});

test("a pool that stays away makes its session unknown, of kind null, without endpoints", async () => {
  const session = await create();
  await pool.kill("SIGKILL");
  await vi.waitFor(async () => {
    const record = await read(session.sessionId);
    expect(record).toMatchObject({ status: "unknown", kind: null });
    expect(record).not.toHaveProperty("wsEndpoint");
  }, PATIENCE);
  expect((await call(`/sessions/${session.sessionId}`, "DELETE")).status).toBe(204);
  await pool.restart();
});
