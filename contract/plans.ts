import * as z from "zod";

/** What a plan may switch on (decisions, Plans). */
export const FEATURES = [
  "stealth",
  "captcha",
  "sandboxes",
  "proxy",
  "desktops",
  "templates",
  "allowedDomains",
] as const;
/** The name of a feature. */
export type Feature = (typeof FEATURES)[number];

/** The plans, cheapest first (decisions, Plans). */
export const PLAN_NAMES = ["free", "starter", "professional"] as const;
/** The name of a plan. */
export type PlanName = (typeof PLAN_NAMES)[number];

/** The unit of `storedGib`. */
export const GIB_BYTES = 1024 ** 3;

/** What an org may do at once, how long, and how much. */
export interface Plan {
  browsers: number;
  vms: number;
  sessionMinutes: number;
  vmIdleMaxMs: number;
  profiles: number;
  /** How many versions of a profile are kept, the current one among them. */
  profileVersions: number;
  /** How many an org may keep. Failed snapshots hold nothing and do not count. */
  snapshots: number;
  templates: number;
  /** How many machines an org may keep, running and paused together: each running machine may be paused at any time. */
  pausedVms: number;
  volumes: number;
  /** How many GiB the records, snapshots and volumes of an org may have together. */
  storedGib: number;
  /** How many days a replay is kept after its session. */
  replayDays: number;
  /** How many days the recording of a desktop is kept after its last part. */
  recordingDays: number;
  features: readonly Feature[];
}

const HOUR_MS = 3_600_000;
const FREE = ["stealth", "captcha", "sandboxes"] as const satisfies Feature[];
const STARTER = [...FREE, "proxy", "desktops", "templates"] as const satisfies Feature[];
const PROFESSIONAL = [...STARTER, "allowedDomains"] as const satisfies Feature[];

/** The plan table. */
export const PLANS: Record<PlanName, Plan> = {
  free: {
    browsers: 3,
    vms: 1,
    sessionMinutes: 60,
    vmIdleMaxMs: 2 * HOUR_MS,
    profiles: 3,
    profileVersions: 3,
    snapshots: 50,
    templates: 10,
    pausedVms: 10,
    volumes: 5,
    storedGib: 20,
    replayDays: 30,
    recordingDays: 7,
    features: FREE,
  },
  starter: {
    browsers: 20,
    vms: 2,
    sessionMinutes: 300,
    vmIdleMaxMs: 8 * HOUR_MS,
    profiles: 25,
    profileVersions: 10,
    snapshots: 250,
    templates: 50,
    pausedVms: 50,
    volumes: 25,
    storedGib: 200,
    replayDays: 90,
    recordingDays: 30,
    features: STARTER,
  },
  professional: {
    browsers: 50,
    vms: 10,
    sessionMinutes: 1440,
    vmIdleMaxMs: 24 * HOUR_MS,
    profiles: 250,
    profileVersions: 30,
    snapshots: 2_500,
    templates: 500,
    pausedVms: 500,
    volumes: 250,
    storedGib: 2_000,
    replayDays: 365,
    recordingDays: 90,
    features: PROFESSIONAL,
  },
};

const count = z.int().nonnegative();
/** null: no cap. */
const uncappable = <N extends z.ZodType<number>>(amount: N) => amount.nullable().exactOptional();
const on = z.boolean().exactOptional();
const switches = Object.fromEntries(FEATURES.map((name) => [name, on]));
// No record: that would take a feature called `__proto__`.
const Switches = z.strictObject(switches as Record<Feature, typeof on>);

/** Values of the plan that are replaced for one org: for tests and special customers. */
export const PlanOverrides = z.strictObject({
  browsers: count.exactOptional(),
  vms: count.exactOptional(),
  sessionMinutes: z.number().positive().exactOptional(),
  vmIdleMaxMs: z.int().min(1000).exactOptional(),
  profiles: count.exactOptional(),
  profileVersions: count.min(1).exactOptional(),
  snapshots: count.exactOptional(),
  templates: count.exactOptional(),
  pausedVms: uncappable(count),
  volumes: uncappable(count),
  storedGib: uncappable(z.number().nonnegative()),
  features: Switches.exactOptional(),
});
export type PlanOverrides = z.infer<typeof PlanOverrides>;

/** The plan of an org with its overrides applied. */
export function effectivePlan(name: PlanName, overrides: PlanOverrides = {}): Plan {
  const { features: switches = {}, pausedVms, volumes, storedGib, ...numbers } = overrides;
  const plan = PLANS[name];
  const kept = {
    pausedVms: capOf(pausedVms, plan.pausedVms),
    volumes: capOf(volumes, plan.volumes),
    storedGib: capOf(storedGib, plan.storedGib),
  };
  const features = FEATURES.filter(
    (feature) => switches[feature] ?? plan.features.includes(feature),
  );
  return { ...plan, ...numbers, ...kept, features };
}

/** The cap of a plan with its override: Infinity when the override lifts the cap. */
function capOf(override: number | null | undefined, cap: number): number {
  return override === null ? Infinity : (override ?? cap);
}

/** The cheapest plan that has a feature: what `FeatureRequiresPlan` names. */
export function cheapestPlanWith(feature: Feature): PlanName {
  return PLAN_NAMES.find((name) => PLANS[name].features.includes(feature)) ?? "professional";
}

/** What an hour costs a prepaid org, in cents (decisions). Paused machines cost nothing. */
export const RATES = { browserHour: 10, vcpuHour: 5, gibHour: 1.5 } as const;
