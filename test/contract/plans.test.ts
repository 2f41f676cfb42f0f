import { cheapestPlanWith, effectivePlan, PlanOverrides, PLANS } from "@svc/contract/plans.ts";
import { expect, test } from "vitest";

test("every plan has all that a cheaper one has", () => {
  const { free, starter, professional } = PLANS;
  for (const [less, more] of [
    [free, starter],
    [starter, professional],
  ] as const) {
    expect(more.features).toEqual(expect.arrayContaining([...less.features]));
    expect(more.browsers).toBeGreaterThan(less.browsers);
    expect(more.vms).toBeGreaterThan(less.vms);
    expect(more.snapshots).toBeGreaterThan(less.snapshots);
    expect(more.templates).toBeGreaterThan(less.templates);
    expect(more.pausedVms).toBeGreaterThan(less.pausedVms);
    expect(more.volumes).toBeGreaterThan(less.volumes);
    expect(more.storedGib).toBeGreaterThan(less.storedGib);
  }
});

test("the caps that the documents fix", () => {
  expect(PLANS.free.browsers).toBe(3);
  expect([PLANS.free.vms, PLANS.starter.vms, PLANS.professional.vms]).toEqual([1, 2, 10]);
});

test("overrides replace single values and switch single features", () => {
  const overrides = { browsers: 7, features: { stealth: false, proxy: true } };
  const plan = effectivePlan("free", overrides);
  expect(plan).toMatchObject({ browsers: 7, vms: 1, features: ["captcha", "sandboxes", "proxy"] });
});

test("caps of what is kept may be 0, and null lifts them", () => {
  const none = effectivePlan("free", { pausedVms: 0, volumes: 0, storedGib: 0 });
  expect(none).toMatchObject({ pausedVms: 0, volumes: 0, storedGib: 0 });
  const all = effectivePlan("free", { pausedVms: null, volumes: null, storedGib: null });
  expect(all).toMatchObject({ pausedVms: Infinity, volumes: Infinity, storedGib: Infinity });
  expect(effectivePlan("free")).toMatchObject({ pausedVms: 10, volumes: 5, storedGib: 20 });
});

test("no plan runs more machines at once than it keeps", () => {
  for (const { vms, pausedVms } of Object.values(PLANS)) expect(vms).toBeLessThan(pausedVms);
});

test("the cheapest plan with a feature", () => {
  expect(cheapestPlanWith("captcha")).toBe("free");
  expect(cheapestPlanWith("proxy")).toBe("starter");
  expect(cheapestPlanWith("allowedDomains")).toBe("professional");
});

test.each([{ colour: 1 }, { browsers: 1.5 }, { sessionMinutes: 0 }, { features: { odd: true } }])(
  "%o is no override",
  (value) => expect(PlanOverrides.safeParse(value).success).toBe(false),
);
