import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { RawCdp } from "./clients.ts";
import { bearer } from "../support/process/host-rig.ts";
import { Rig } from "./rig.ts";

const JUMPING = fileURLToPath(new URL("jumping-clock.ts", import.meta.url));
const TEN_MINUTES = 600_000;

describe.skipIf(await missingBrowser())("a clock that jumps under a pool", () => {
  const rigs: Rig[] = [];
  afterEach(async () => void (await Promise.all(rigs.splice(0).map((rig) => rig.stop()))));

  async function setClock({ child }: Rig, byMs: number): Promise<void> {
    const isSet = new Promise<void>((resolve) => {
      // The pool has messages of its own.
      child.on("message", (message) => {
        if (JSON.stringify(message) === '{"type":"set"}') resolve();
      });
    });
    child.send(byMs);
    await isSet;
  }

  /** A pool with a session and its client, once the pool's clock was set by so much. */
  async function jumped(byMs: number) {
    const rig = await Rig.start({ main: JUMPING });
    rigs.push(rig);
    // A warm one is taken, so that the pool has put its refill off by its clock.
    await rig.warm();
    const expiresAt = Date.now() + 6 * TEN_MINUTES;
    await rig.place("s", { expiresAt });
    const client = await RawCdp.open(rig, "s");
    const nextBeat = () => rig.gateway.beat(() => true, rig.gateway.beats.length);
    const { gateway } = rig;
    await gateway.beat(({ kinds, slots }) => kinds.fast?.idle === 1 && slots[0]?.opens === 1);
    await nextBeat();
    // Time for its answer to get there.
    for (let n = 0; n < 3; n += 1) await client.call("Browser.getVersion");
    await setClock(rig, byMs);
    // Nothing changes, so that this one is seconds away: the pool looks at its clock before it hears its gateway.
    await nextBeat();
    // A call of a gateway whose clock was set as well.
    const call = async (method: string, id: string, body?: object): Promise<Response> =>
      fetch(new URL(`/slots/${id}`, rig.ready.url), {
        method,
        headers: { authorization: `Bearer ${await bearer(id, Date.now() + byMs + 60_000)}` },
        ...(body && { body: JSON.stringify(body) }),
      });
    /** A whole session, and the browser that is warm after it: longer than the pool's checks are apart. */
    const useAnother = async (id: string): Promise<void> => {
      const ask = { kind: "fast", expiresAt: expiresAt + byMs, acquireMs: 120_000 };
      expect((await call("PUT", id, ask)).status).toBe(201);
      expect((await call("DELETE", id)).status).toBe(204);
      const since = rig.gateway.beats.length;
      await rig.gateway.beat(({ kinds }) => kinds.fast?.idle === 1 && kinds.fast.busy === 1, since);
    };
    return { rig, client, useAnother };
  }

  test.each([
    ["ahead", TEN_MINUTES],
    ["back", -TEN_MINUTES],
  ])("by ten minutes %s ends no session, and the pool goes on", async (_name, byMs) => {
    const { rig, client, useAnother } = await jumped(byMs);
    for (const id of ["a", "b", "c"]) await useAnother(id);
    expect((await client.call("Browser.getVersion")).result).toBeDefined();
    expect(rig.gateway.last?.slots).toMatchObject([{ id: "s", opens: 1, closes: 0 }]);
  });

  test.each([TEN_MINUTES, -TEN_MINUTES])("by %i ms puts no deadline off", async (byMs) => {
    const rig = await Rig.start({ main: JUMPING });
    rigs.push(rig);
    await rig.warm();
    await rig.place("s", { expiresAt: Date.now() + 15_000 });
    await setClock(rig, byMs);
    const report = await rig.gateway.report("s", ({ ended }) => ended !== undefined);
    expect(report).toMatchObject({ ended: "expired" });
  });
});
