import { describe, expect, test, vi } from "vitest";
import type { OpenSession, Service } from "../caller.ts";
import { cdp, closeOf, open, upgrade } from "../sockets.ts";

const IN_TURN = { concurrent: false };
const PATIENCE = { timeout: 120_000, interval: 250 };
/** Longer than it takes to create a session and to open its socket. */
const SOON = { sessionMinutes: 1 };
/** Time in which a client that closed cleanly may come back. */
const LINGER_MS = 2000;
/** How long an upgrade waits for a pool that is away. */
const POOL_WAIT_MS = 15_000;

const ended = (session: OpenSession, end: object) =>
  vi.waitFor(async () => expect(await session.read()).toMatchObject(end), PATIENCE);

/** Document 1: states and transitions; what ends a live session. */
export function life(service: Service): void {
  // They wait for time to pass, so they wait together; the others go in turn: in a burst of creates the last one
  // may wait for its browser for longer than a create does.
  describe.concurrent("a session ends", () => {
    test("at its deadline: its sockets close with a reason, it is expired, and its slot is free", async () => {
      const org = await service.newOrg("free", { browsers: 1, ...SOON });
      await using session = await org.open();
      const socket = await open(session.created.cdpEndpoint);
      const { code, reason } = await closeOf(socket);
      expect([code, reason]).toEqual([4408, expect.stringMatching(/./)]);
      await ended(session, { status: "expired", closeReason: "expired" });
      expect(await session.read()).not.toHaveProperty("wsEndpoint");
      await using next = await org.open();
      expect(next.id).not.toBe(session.id);
    });

    test("for good: expired is 200, can be released, and its sockets are 404 at once", async () => {
      const org = await service.newOrg("free", SOON);
      await using session = await org.open();
      await ended(session, { status: "expired" });
      for (const endpoint of [session.created.wsEndpoint, session.created.cdpEndpoint]) {
        const before = Date.now();
        expect((await upgrade(endpoint)).status).toBe(404);
        expect(Date.now() - before).toBeLessThan(POOL_WAIT_MS);
      }
      expect((await org.delete(session.path)).status).toBe(204);
      expect((await session.read()).status).toBe("expired");
    });

    test("when its client closes cleanly and does not come back", async () => {
      const org = await service.newOrg("free", { browsers: 1 });
      await using session = await org.open();
      const socket = await open(session.created.cdpEndpoint);
      await cdp(socket, "Browser.getVersion");
      const closedAt = Date.now();
      socket.close(1000);
      await closeOf(socket);
      const { status } = await session.read();
      // Not before its time, however late this look at it came.
      const mayBeOver = Date.now() - closedAt >= LINGER_MS;
      expect(status === "active" || mayBeOver, `${status} already`).toBe(true);
      await ended(session, { status: "released", closeReason: "client_disconnected" });
      await using next = await org.open();
      expect(next.id).not.toBe(session.id);
    });

    test("when it is released: its open sockets are told", IN_TURN, async () => {
      const org = await service.newOrg();
      await using session = await org.open();
      const sockets = await Promise.all([
        open(session.created.wsEndpoint),
        open(session.created.cdpEndpoint),
      ]);
      const closed = Promise.all(sockets.map(closeOf));
      await org.delete(session.path);
      for (const { code, reason } of await closed)
        expect([code, reason]).toEqual([4404, expect.stringMatching(/./)]);
    });
  });

  describe("a session lives on", IN_TURN, () => {
    test("when its client vanishes: the same URL leads to the same tabs", async () => {
      const org = await service.newOrg();
      await using session = await org.open();
      const socket = await open(session.created.cdpEndpoint);
      await cdp(socket, "Target.createTarget", { url: "data:text/html,mine" });
      socket.terminate();
      const again = await open(session.created.cdpEndpoint);
      const targets = JSON.stringify(await cdp(again, "Target.getTargets"));
      expect(targets).toContain("data:text/html,mine");
      expect((await session.read()).status).toBe("active");
      again.terminate();
    });
  });
}
