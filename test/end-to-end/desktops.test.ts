import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { DesktopCreated } from "@svc/contract/vm/desktop.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { VmGateway } from "../support/process/vm-gateway.ts";

const MIB = 1024 * 1024;

let it: VmGateway;
let desktop: DesktopCreated;

beforeAll(async () => {
  it = await VmGateway.start(undefined, ["desktop"]);
  desktop = await create({});
});
afterAll(() => it?.close());

const post = (path: string, body?: object) =>
  fetch(new URL(path, it.gateway.url), {
    method: "POST",
    headers: { authorization: `Bearer ${it.key}` },
    ...(body && { body: JSON.stringify(body) }),
  });

const create = async (body: object) =>
  DesktopCreated.parse(await (await post("/desktops", body)).json());

/** A socket that is open. */
async function open(url: string, protocols: string[] = []): Promise<WebSocket> {
  const socket = new WebSocket(url, protocols);
  await once(socket, "open");
  return socket;
}

/** What an upgrade that is refused is answered. */
async function refusal(url: string) {
  const socket = new WebSocket(url);
  socket.on("error", () => undefined);
  const [, answer] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
  const type = answer.headers["content-type"];
  return {
    status: answer.statusCode,
    isPlain: type?.startsWith("text/plain"),
    text: await text(answer),
  };
}

async function answerTo(socket: WebSocket, message: string | Buffer): Promise<Buffer> {
  const answer = once(socket, "message");
  socket.send(message);
  const [data] = (await answer) as [Buffer];
  return data;
}

const streamUrl = (id: string): string =>
  `${it.gateway.url.origin.replace("http", "ws")}/stream/${id}`;

describe("the screen of a desktop", () => {
  test("passes bytes both ways as they are, in the order they came", async () => {
    const socket = await open(desktop.streamUrl, ["binary"]);
    expect(socket.protocol).toBe("binary");
    // The first words of RFB, then what a screen sends: small, uneven, large.
    for (const bytes of [
      Buffer.from("RFB 003.008\n"),
      ...[1, 125, 65_537, MIB].map((size) => randomBytes(size)),
    ])
      expect((await answerTo(socket, bytes)).equals(bytes)).toBe(true);
    const burst = Array.from({ length: 200 }, (_, n) => Buffer.from([n]));
    const got: Buffer[] = [];
    const all = new Promise<void>((resolve) => {
      socket.on("message", (data: Buffer) => {
        got.push(data);
        if (got.length === burst.length) resolve();
      });
    });
    for (const bytes of burst) socket.send(bytes);
    await all;
    expect(Buffer.concat(got).equals(Buffer.concat(burst))).toBe(true);
    socket.close();
  });

  test("is opened by its URL alone, and the host is shown our bearer and nothing of a client's", async () => {
    const socket = new WebSocket(desktop.streamUrl, {
      headers: { cookie: "a=1", authorization: "Bearer x" },
    });
    await once(socket, "open");
    const headers = String(await answerTo(socket, "headers"));
    expect(headers).toMatch(/"Bearer [^"]{20,}"/);
    expect(headers).not.toMatch(/a=1|"Bearer x"/);
    expect(String(await answerTo(socket, "url"))).toBe(`/vms/${desktop.sessionId}/stream`);
    socket.close();
    const watching = await open(`${desktop.streamUrl}?view=1&other=2`);
    const asked = String(await answerTo(watching, "url"));
    expect(asked).toBe(`/vms/${desktop.sessionId}/stream?view=1`);
    watching.close();
  });

  test.each([1000, 1012, 4404, 4409, 4410])(
    "ends with the host's code %i and its reason",
    async (code) => {
      const socket = await open(desktop.streamUrl);
      const closed = once(socket, "close");
      socket.send(`close ${code}`);
      expect((await closed).map(String)).toEqual([String(code), "a reason"]);
    },
  );

  test("ends at the host with the client's code", async () => {
    const closed = it.host.guest.endOfNext();
    const socket = await open(desktop.streamUrl);
    socket.close(4001, "enough");
    expect(await closed).toEqual({ code: 4001, reason: "enough" });
  });

  test("that breaks off at the client breaks off at the host", async () => {
    const closed = it.host.guest.endOfNext();
    const socket = await open(desktop.streamUrl);
    socket.terminate();
    expect((await closed).code).toBe(1006);
  });

  test("may be watched by several at once", async () => {
    const sockets = await Promise.all([0, 1, 2].map(() => open(desktop.streamUrl)));
    const answers = await Promise.all(sockets.map((socket, n) => answerTo(socket, `${n}`)));
    expect(answers.map(String)).toEqual(["0", "1", "2"]);
    for (const socket of sockets) socket.close();
  });

  test("of a sandbox, of an id that is altered or unknown, is 404 in plain text", async () => {
    const last = desktop.sessionId.at(-10) === "A" ? "B" : "A";
    const altered = `${desktop.sessionId.slice(0, -10)}${last}${desktop.sessionId.slice(-9)}`;
    expect(await refusal(streamUrl(it.id))).toEqual({
      status: 404,
      isPlain: true,
      text: "A sandbox has no screen: only desktops do.\n",
    });
    for (const id of [altered, "nope"])
      expect(await refusal(streamUrl(id))).toEqual({
        status: 404,
        isPlain: true,
        text: "There is no such sandbox.\n",
      });
  });

  test("whose host has none yet is the host's own 404", async () => {
    it.host.mode = { ...it.host.mode, upgrade: "missing" };
    expect(await refusal(desktop.streamUrl)).toMatchObject({ status: 404, isPlain: true });
    it.host.mode = { ...it.host.mode, upgrade: "ok" };
  });

  test("that is paused is 409; with autoResume it is resumed first", async () => {
    const paused = await create({});
    expect((await post(`/desktops/${paused.sessionId}/pause`)).status).toBe(200);
    expect(await refusal(paused.streamUrl)).toMatchObject({ status: 409, isPlain: true });
    const waking = await create({ lifecycle: { autoResume: true } });
    expect((await post(`/desktops/${waking.sessionId}/pause`)).status).toBe(200);
    const socket = await open(waking.streamUrl);
    expect(String(await answerTo(socket, "awake"))).toBe("awake");
    socket.close();
  });

  test("of one that was deleted is 404, and its host is not asked", async () => {
    const gone = await create({});
    const headers = { authorization: `Bearer ${it.key}` };
    await fetch(new URL(`/desktops/${gone.sessionId}`, it.gateway.url), {
      method: "DELETE",
      headers,
    });
    expect(await refusal(gone.streamUrl)).toMatchObject({ status: 404, isPlain: true });
    const asked = it.host.calls.filter(({ path }) => path === `/vms/${gone.sessionId}/stream`);
    expect(asked).toEqual([]);
  });
});
