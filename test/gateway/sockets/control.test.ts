import { env } from "cloudflare:workers";
import { evictDurableObject } from "cloudflare:test";
import { mintSessionId, mintVmId } from "@svc/contract/tokens.ts";
import type { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { call, newOrg } from "../../support/worker/gateway.ts";
import {
  adopt,
  expiryOf,
  newSandbox,
  newVmHost,
  rewind,
  type VmHost,
} from "../../support/worker/vm-host.ts";
import { SIGNING_SECRET } from "../../support/secrets.ts";

const HANDSHAKE = { upgrade: "websocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };

let host: VmHost;
let org: { key: string; orgId: string };
let made: SandboxCreated;

beforeEach(async () => {
  host = await newVmHost();
  org = await newOrg("professional");
  made = await newSandbox(org.key);
});

const upgrade = (path: string, headers = {}) =>
  call(path, { headers: { ...HANDSHAKE, ...headers } });

async function refusal(path: string, headers = {}) {
  const response = await upgrade(path, headers);
  const isPlain = response.headers.get("content-type")?.startsWith("text/plain");
  return { status: response.status, isPlain, text: await response.text() };
}

const refused = (status: number, text: RegExp = /\n$/) => ({
  status,
  isPlain: true,
  text: expect.stringMatching(text),
});

/** Opens the socket of an accepted upgrade. */
function accept(response: Response): WebSocket {
  expect(response.status).toBe(101);
  if (!response.webSocket) throw new Error("no socket");
  response.webSocket.accept();
  return response.webSocket;
}

function ask(socket: WebSocket, text: string): Promise<string> {
  const answer = new Promise<string>((resolve) => {
    socket.addEventListener("message", ({ data }) => resolve(String(data)), { once: true });
  });
  socket.send(text);
  return answer;
}

describe("/control/:id", () => {
  test.each([
    ["by its URL alone", {}],
    ["with a key too", { authorization: "Bearer KEY" }],
    ["with a bearer that is none", { authorization: "Bearer nonsense" }],
  ])("opens %s, and the host sees our bearer only", async (_name, sent) => {
    const { pathname } = new URL(made.controlUrl);
    const headers = { cookie: "a=1", "sec-websocket-protocol": "svc.control.v1", ...sent };
    const socket = accept(await upgrade(pathname, headers));
    const found = await ask(socket, "headers");
    expect(found).toContain("svc.control.v1");
    expect(found).not.toMatch(/KEY|nonsense|a=1/);
    expect(await ask(socket, "hello")).toBe("hello");
    const [seen] = await host.calls("GET", "control");
    expect([seen?.org, seen?.path]).toEqual([org.orgId, `/vms/${made.sandboxId}/control`]);
    socket.close();
  });

  test("stays open when the object sleeps", async () => {
    const socket = accept(await upgrade(`/control/${made.sandboxId}`));
    await evictDurableObject(env.SANDBOXES.getByName(made.sandboxId));
    expect(await ask(socket, "still")).toBe("still");
    socket.close();
  });

  test("is use of the sandbox", async () => {
    const before = await rewind(made.sandboxId);
    accept(await upgrade(`/control/${made.sandboxId}`)).close();
    expect(await expiryOf(made.sandboxId)).toBeGreaterThan(before);
  });

  test("of a forged, malformed, unknown or browser's id is 404, all alike", async () => {
    const claims = { org: org.orgId, issuedAt: Date.now() };
    const ids = [
      "nope",
      made.sandboxId.slice(0, -1),
      await mintVmId("another secret", claims),
      await mintVmId(SIGNING_SECRET, claims),
      await mintSessionId(SIGNING_SECRET, claims),
    ];
    const answers = await Promise.all(ids.map((id) => refusal(`/control/${id}`)));
    for (const answer of answers)
      expect(answer).toEqual(refused(404, /^There is no such sandbox\.\n$/));
  });

  test("opens whatever the age of its id", async () => {
    const id = await mintVmId(SIGNING_SECRET, { org: org.orgId, issuedAt: 1 });
    await adopt(host, made.sandboxId, id);
    const socket = accept(await upgrade(`/control/${id}`));
    expect(await ask(socket, "hello")).toBe("hello");
    socket.close();
  });

  test("of a sandbox that was deleted is 404, and its host is not asked", async () => {
    await call(`/sandboxes/${made.sandboxId}`, { method: "DELETE", bearer: org.key });
    expect(await refusal(`/control/${made.sandboxId}`)).toEqual(refused(404));
    expect(await host.calls("GET", "control")).toEqual([]);
  });

  test.each([
    ["missing", 404],
    ["fault", 502],
    ["drop", 502],
  ])("whose host answers with %s is %i", async (mode, status) => {
    await host.steer({ upgrade: mode });
    expect(await refusal(`/control/${made.sandboxId}`)).toEqual(refused(status));
  });

  test.each(["/control", "/control/", "/control/a/b"])("as %s is 404", async (path) => {
    expect(await refusal(path)).toEqual(refused(404));
  });

  test("is for WebSockets", async () => {
    const response = await call(`/control/${made.sandboxId}`);
    expect(response.status).toBe(426);
    const keyless = await call(`/control/${made.sandboxId}`, { headers: { upgrade: "websocket" } });
    expect(keyless.status).toBe(400);
  });
});

describe("/stream/:id", () => {
  test("of a sandbox is 404: it has no screen", async () => {
    expect(await refusal(`/stream/${made.sandboxId}`)).toEqual(refused(404, /screen/));
  });

  test("of an id that is none is 404", async () => {
    expect(await refusal("/stream/nope")).toEqual(refused(404));
  });
});
