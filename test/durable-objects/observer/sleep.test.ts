import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { encodeFrame } from "@svc/contract/browser/observer-frame.ts";
import { LiveToken } from "@svc/contract/browser/take-over.ts";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { FEED_TICKET_HEADER, OpenFeed } from "@svc/contract/host-protocol/feed.ts";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { ObserverDO } from "../../../durable-objects/observer.ts";
import { SessionDO } from "../../../durable-objects/session.ts";
import { HOST_TOKEN } from "../../support/secrets.ts";
import { call, clearFleet, newOrg, newPool, newSession } from "../../support/worker/gateway.ts";

const HANDSHAKE = { upgrade: "websocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
const PATIENCE = { timeout: 30_000, interval: 20 };

/** An end of a socket, and everything that it has heard. */
class End {
  readonly texts: { type: string; [field: string]: unknown }[] = [];
  frames = 0;
  closed: number | null = null;
  readonly #socket: WebSocket;

  constructor(response: Response) {
    expect(response.status).toBe(101);
    if (!response.webSocket) throw new Error("no socket");
    this.#socket = response.webSocket;
    this.#socket.addEventListener("message", ({ data }) => {
      if (typeof data === "string") this.texts.push(JSON.parse(data));
      else this.frames += 1;
    });
    this.#socket.addEventListener("close", ({ code }) => (this.closed = code));
    this.#socket.accept();
  }

  send(message: object | Uint8Array): void {
    this.#socket.send(message instanceof Uint8Array ? message : JSON.stringify(message));
  }

  hasHeard(type: string): Promise<void> {
    const look = (): void => expect(this.texts.map((text) => text.type)).toContain(type);
    return vi.waitFor(look, PATIENCE);
  }

  hasFrames(count: number): Promise<void> {
    return vi.waitFor(() => expect(this.frames).toBe(count), PATIENCE);
  }
}

const TABS = [{ id: "page", url: "https://a.example/", title: "A", active: true }];
const frame = (seq: number): Uint8Array => {
  const head = { seq, ts: 0, page: "page", w: 10, h: 10, scale: 1, sx: 0, sy: 0 };
  return encodeFrame(head, new Uint8Array([0xff, 0xd8]));
};

describe("the object of observers", async () => {
  await clearFleet();
  const pool = await newPool();
  const { key } = await newOrg("starter");
  beforeEach(async () => {
    await pool.beat();
    await pool.steer({ feed: "hold" });
  });

  /** A session with a viewer, and the feed of its pool, which has shown it. */
  async function watched(): Promise<{ id: string; viewer: End; feed: End }> {
    const id = await newSession(key);
    const viewing = call(`/ws/observe/${id}`, { headers: HANDSHAKE, bearer: key });
    const ticket = await vi.waitFor(async () => {
      const path = `/slots/${encodeURIComponent(id)}/feed`;
      const asked = (await pool.calls()).find((each) => each.path === path);
      return OpenFeed.parse(asked?.body).ticket;
    }, PATIENCE);
    const headers = { ...HANDSHAKE, [FEED_TICKET_HEADER]: ticket };
    const path = `/internal/sessions/${id}/feed`;
    const feed = new End(await call(path, { headers, bearer: HOST_TOKEN }));
    await pool.steer({ feed: "open" });
    const viewer = new End(await viewing);
    feed.send({ type: "pages", seq: 1, pages: TABS });
    feed.send(frame(2));
    await viewer.hasFrames(1);
    viewer.send({ type: "ack", seq: 2 });
    return { id, viewer, feed };
  }

  const sleep = (id: string): Promise<void> => evictDurableObject(env.OBSERVERS.getByName(id));

  test("wakes with its viewers, asks the pool for what it has forgotten, and shows what comes", async () => {
    const { id, viewer, feed } = await watched();
    await feed.hasHeard("ack");
    await sleep(id);
    feed.texts.length = 0;
    viewer.send({ type: "options", maxWidth: 640 });
    await feed.hasHeard("show");
    await vi.waitFor(
      () => expect(feed.texts.findLast(({ type }) => type === "watch")?.["maxWidth"]).toBe(640),
      PATIENCE,
    );
    feed.send({ type: "pages", seq: 3, pages: TABS });
    feed.send(frame(4));
    await viewer.hasFrames(2);
    viewer.send({ type: "ack", seq: 4 });
    await feed.hasHeard("ack");
    expect(viewer.closed).toBeNull();
  });

  test("shows nobody but the person what it shows, also after it slept", async () => {
    const { id, viewer, feed } = await watched();
    const person = await taken(id);
    await sleep(id);
    feed.send({ type: "pages", seq: 3, pages: TABS });
    feed.send(frame(4));
    await person.hasFrames(1);
    person.send({ type: "ack", seq: 4 });
    feed.send(frame(5));
    await person.hasFrames(2);
    expect(viewer.frames).toBe(1);
    person.send({ type: "handoff", action: "done" });
    await vi.waitFor(() => expect(person.closed).toBe(CLOSE_CODES.normal), PATIENCE);
    await viewer.hasFrames(2);
  });

  test("a person whom the session does not hear still has it, and gives it back again", async () => {
    const { id } = await watched();
    const person = await taken(id);
    const session = env.SESSIONS.getByName(id);
    vi.spyOn(SessionDO.prototype, "endHandoff").mockImplementationOnce(() => {
      throw new Error("test");
    });
    person.send({ type: "handoff", action: "done" });
    person.send({ type: "handoff", action: "done" });
    await vi.waitFor(() => expect(person.closed).toBe(CLOSE_CODES.normal), PATIENCE);
    expect((await session.read())?.handoff?.status).toBe("completed");
  });

  test("a hand-off that ends while its beginning is being told lets its person go all the same", async () => {
    const { id, viewer, feed } = await watched();
    const session = env.SESSIONS.getByName(id);
    let isOver = false;
    const telling = vi.spyOn(ObserverDO.prototype, "handoffIs").mockImplementationOnce(async () => {
      while (!isOver) await scheduler.wait(10);
    });
    const person = await taken(id);
    await vi.waitFor(() => expect(telling).toHaveBeenCalledOnce(), PATIENCE);
    const handoff = (await session.read())?.handoff?.id ?? "";
    expect((await session.endHandoff(handoff, { as: "cancelled" }))?.status).toBe("cancelled");
    isOver = true;
    await vi.waitFor(() => expect(person.closed).toBe(CLOSE_CODES.normal), PATIENCE);
    feed.send(frame(3));
    await viewer.hasFrames(2);
  });

  /** The socket of a person who has taken the session over. */
  async function taken(id: string): Promise<End> {
    const answer = await call(`/sessions/${id}/live-token`, { method: "POST", bearer: key });
    const { url } = LiveToken.parse(await answer.json());
    const person = new End(await call(url.replace(/^ws/, "http"), { headers: HANDSHAKE }));
    await person.hasHeard("hello");
    return person;
  }
});
