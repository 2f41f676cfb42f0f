import { Lease } from "@svc/contract/browser/session.ts";
import { describe, expect, test, vi } from "vitest";
import type { Service } from "../caller.ts";
import { closeOf, open } from "../sockets.ts";

const IN_TURN = { concurrent: false };
const PATIENCE = { timeout: 120_000, interval: 250 };

/** Decisions: sessions with a lease. */
export function leases(service: Service): void {
  describe.concurrent("a lease", () => {
    test("makes the session ignore that its clients go, and ends it when it is not renewed", async () => {
      const org = await service.newOrg("free", { browsers: 1 });
      await using session = await org.open({ lease: { idleSeconds: 3600 } });
      const socket = await open(session.created.cdpEndpoint);
      socket.close(1000);
      await closeOf(socket);
      // Longer than the linger of a session without a lease: its end would have been seen by then.
      await using other = await lingering(service);
      await vi.waitFor(
        async () => expect((await other.read()).closeReason).toBe("client_disconnected"),
        PATIENCE,
      );
      expect((await session.read()).status).toBe("active");
      await org.post(`${session.path}/lease`, { idleSeconds: 1 });
      await vi.waitFor(
        async () => expect((await session.read()).closeReason).toBe("lease_ended"),
        PATIENCE,
      );
      const late = await org.post(`${session.path}/lease`);
      expect(late.status).toBe(409);
      expect(late.json).toMatchObject({ code: "NotRunning" });
    });

    test("is renewed as it was, or by what the body says", IN_TURN, async () => {
      const org = await service.newOrg();
      await using session = await org.open({ lease: { idleSeconds: 600 } });
      for (const [body, idleSeconds] of [
        [undefined, 600],
        [{ idleSeconds: 90 }, 90],
        [undefined, 90],
      ] as const) {
        const answer = await org.post(`${session.path}/lease`, body);
        expect(answer.status).toBe(200);
        expect(Lease.parse(answer.json).idleSeconds).toBe(idleSeconds);
      }
    });

    test(
      "must be a whole number of seconds from 1 to a day: else 400, at create and later",
      IN_TURN,
      async () => {
        const org = await service.newOrg();
        await using session = await org.open();
        expect((await org.post(`${session.path}/lease`)).status).toBe(400);
        for (const idleSeconds of [0, -1, 1.5, 86_401, "60", null]) {
          const create = await org.post("/sessions", { lease: { idleSeconds } });
          expect(create.status).toBe(400);
          expect(create.json).toMatchObject({ field: "lease.idleSeconds" });
          expect((await org.post(`${session.path}/lease`, { idleSeconds })).status).toBe(400);
        }
      },
    );
  });
}

/** A session whose client has just left, and said so. */
async function lingering(service: Service) {
  const session = await (await service.newOrg()).open();
  const socket = await open(session.created.cdpEndpoint);
  socket.close(1000);
  await closeOf(socket);
  return session;
}
