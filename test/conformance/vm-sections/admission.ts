import { describe, expect, test } from "vitest";
import type { VmService } from "../vm-caller.ts";

const NEITHER = { features: { sandboxes: false, desktops: false } };

/** Document 2: what an org may have, on both surfaces. */
export function admission(service: VmService): void {
  describe.each(service.surfaces)("POST %s", (surface) => {
    test("of a plan with neither product is 403", async () => {
      const answer = await (await service.newOrg("professional", NEITHER)).post(surface);
      expect([answer.status, answer.json]).toMatchObject([403, { code: "NotEntitled" }]);
    });

    test("of an org whose credit is used up is 402", async () => {
      const answer = await (await service.newOrg("professional", {}, 0)).post(surface);
      expect([answer.status, answer.json]).toMatchObject([402, { code: "InsufficientCredit" }]);
    });

    test("beyond the cap is 429 with cap, plan and the holders, and is not to be tried again", async () => {
      const org = await service.newOrg("professional", { vms: 1 });
      await using machine = await org.make(surface);
      const answer = await org.post(surface);
      expect(answer.status).toBe(429);
      expect(answer.json).toMatchObject({
        code: "ConcurrencyLimitExceeded",
        plan: "professional",
        cap: 1,
        kind: "vm",
        holders: [machine.id],
      });
      expect(answer.json).not.toHaveProperty("retryable");
      await org.delete(machine.path);
      await using next = await org.make(surface);
      expect(next.id).not.toBe(machine.id);
    });
  });

  test("a desktop of a plan without desktops is 402, on both surfaces", async () => {
    const org = await service.newOrg("free");
    const answers = [
      await org.post("/desktops"),
      await org.post("/sandboxes", { kind: "desktop" }),
    ];
    for (const { status, json } of answers)
      expect([status, json]).toMatchObject([
        402,
        { code: "FeatureRequiresPlan", feature: "desktops" },
      ]);
  });

  test("Free has one VM at once", async () => {
    const org = await service.newOrg("free");
    await using machine = await org.make();
    const answer = await org.post("/sandboxes");
    expect([answer.status, answer.json]).toMatchObject([429, { cap: 1, holders: [machine.id] }]);
  });
}
