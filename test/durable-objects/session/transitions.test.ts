import { LIMITS } from "@svc/contract/limits.ts";
import { describe, expect, test } from "vitest";
import type { Active, SessionState } from "../../../durable-objects/session/state.ts";
import { type SessionEvent, step, timers } from "../../../durable-objects/session/transitions.ts";
import { duties } from "../../../durable-objects/session/duties.ts";
import { newsOf } from "../../../durable-objects/session/handoff.ts";

const GRACE = LIMITS.orphanGraceMs;
const NEVER = { how: "never", since: 0 } as const;
const active: Active = {
  status: "active",
  expiresAt: 1e9,
  detached: NEVER,
  awaySince: null,
  lease: null,
};
const attached: Active = { ...active, detached: null, sockets: { opens: 1, closes: 0 } };
const creating: SessionState = { status: "creating", giveUpAt: 1000 };
const released: SessionState = { status: "released", reason: "released", endedAt: 5, usedUntil: 5 };
const expired: SessionState = { status: "expired", endedAt: 5 };
const failed: SessionState = { status: "failed" };

const count = (opens: number, closes: number, lastClose?: "clean" | "dropped"): SessionEvent => ({
  type: "sockets",
  opens,
  closes,
  lastClose,
});
const closed = (how: "clean" | "dropped"): SessionEvent => count(1, 1, how);
const opened = count(1, 0);

describe("from creating", () => {
  test.each<[SessionEvent, SessionState]>([
    [
      { type: "placed", expiresAt: 900, leaseIdleMs: null },
      { ...active, expiresAt: 900, detached: { how: "never", since: 10 } },
    ],
    [{ type: "createFailed" }, failed],
    [{ type: "release" }, { status: "released", reason: "released", endedAt: 10, usedUntil: 10 }],
    [{ type: "hostAway", seenAt: 1 }, creating],
    [opened, creating],
  ])("%o", (event, after) => expect(step(creating, event, 10)).toEqual(after));

  test("a create that nobody finishes has failed", () => {
    expect(step(creating, { type: "tick" }, 999)).toEqual(creating);
    expect(step(creating, { type: "placed", expiresAt: 5000, leaseIdleMs: null }, 1000)).toEqual(
      failed,
    );
  });
});

describe("what ends an active session", () => {
  test.each<[string, SessionEvent, SessionState]>([
    [
      "a release",
      { type: "release" },
      { status: "released", reason: "released", endedAt: 10, usedUntil: 10 },
    ],
    [
      "a crash",
      { type: "hostEnded", reason: "browser_crashed" },
      { status: "released", reason: "browser_crashed", endedAt: 10, usedUntil: 10 },
    ],
    [
      "the host's own deadline",
      { type: "hostEnded", reason: "expired" },
      { status: "expired", endedAt: 10 },
    ],
    [
      "the host's own grace",
      { type: "hostEnded", reason: "orphaned" },
      { status: "released", reason: "orphaned", endedAt: 10, usedUntil: 10 },
    ],
    [
      "a host back without it",
      { type: "hostLost", seenAt: 4 },
      { status: "released", reason: "pool_lost", endedAt: 10, usedUntil: 4 },
    ],
  ])("%s", (_name, event, after) => expect(step(attached, event, 10)).toEqual(after));

  test("its deadline, at the deadline's own time however late the alarm is", () => {
    expect(step(attached, { type: "tick" }, 1e9 - 1)).toEqual(attached);
    expect(step(attached, { type: "tick" }, 2e9)).toEqual({ status: "expired", endedAt: 1e9 });
    expect(step(attached, { type: "release" }, 2e9)).toEqual({ status: "expired", endedAt: 1e9 });
  });

  test("a clean close, after two seconds in which a reconnect keeps it", () => {
    const after = step(attached, closed("clean"), 100);
    expect(step(after, { type: "tick" }, 2099)).toEqual(after);
    expect(step(after, count(2, 1), 2099)).toMatchObject({ detached: null });
    expect(step(after, { type: "tick" }, 2100)).toEqual({
      status: "released",
      reason: "client_disconnected",
      endedAt: 2100,
      usedUntil: 2100,
    });
  });

  test.each([
    ["a dropped connection", step(attached, closed("dropped"), 0)],
    ["a client that never came", active],
  ])("%s, after the orphan grace", (_name, state) => {
    expect(step(state, { type: "tick" }, GRACE - 1)).toEqual(state);
    expect(step(state, count(2, 1), GRACE - 1)).toMatchObject({ status: "active", detached: null });
    const reason = { status: "released", reason: "orphaned", endedAt: GRACE, usedUntil: GRACE };
    expect(step(state, { type: "tick" }, GRACE)).toEqual(reason);
  });

  test("a pool that stays away for the grace", () => {
    const away = step(attached, { type: "hostAway", seenAt: 50 }, 65);
    expect(away).toEqual({ ...attached, awaySince: 50 });
    expect(step(away, { type: "hostAway", seenAt: 880 }, 900)).toEqual(away);
    expect(step(away, { type: "hostBack" }, 900)).toEqual(attached);
    const lost = {
      status: "released",
      reason: "pool_lost",
      endedAt: 50 + GRACE,
      usedUntil: 50,
    };
    expect(step(away, { type: "hostBack" }, 50 + GRACE)).toEqual(lost);
  });
});

describe("a lease", () => {
  const leased = step(creating, { type: "placed", expiresAt: 1e9, leaseIdleMs: 600 }, 0);

  test("makes the session ignore its clients' going", () => {
    for (const how of ["clean", "dropped"] as const) {
      const left = step(step(leased, opened, 1), closed(how), 2);
      expect(timers(left)).toEqual({ expire: 1e9, lease: 600 });
    }
  });

  test("ends it when it is not renewed", () => {
    const renewed = step(leased, { type: "leaseRenewed", idleMs: 1000 }, 599);
    expect(step(renewed, { type: "tick" }, 1598)).toEqual(renewed);
    const ended = { status: "released", reason: "lease_ended", endedAt: 1599, usedUntil: 1599 };
    expect(step(renewed, { type: "leaseRenewed", idleMs: 1000 }, 1599)).toEqual(ended);
  });

  test("runs on while the pool is away", () => {
    const away = step(leased, { type: "hostAway", seenAt: 10 }, 25);
    expect(timers(away)).toEqual({ expire: 1e9, lease: 600, poolLost: 10 + GRACE });
  });
});

test("a repeated report of a closed socket does not push the grace ahead", () => {
  const once = step(attached, closed("dropped"), 100);
  expect(step(once, closed("dropped"), 9000)).toEqual(once);
});

test("a client that was gone has its time to return anew when the pool is back", () => {
  const away = step(step(attached, closed("clean"), 100), { type: "hostAway", seenAt: 200 }, 215);
  const back = step(away, { type: "hostBack" }, 60_000);
  expect(timers(back)).toEqual({ expire: 1e9, linger: 60_000 + LIMITS.lingerMs });
});

test("a pool's absence stops the client's timers: nobody sees the client", () => {
  const away = step(step(attached, closed("clean"), 100), { type: "hostAway", seenAt: 200 }, 215);
  expect(timers(away)).toEqual({ expire: 1e9, poolLost: 200 + GRACE });
});

test.each([released, expired, failed])("%o is terminal", (state) => {
  const events: SessionEvent[] = [
    { type: "placed", expiresAt: 1, leaseIdleMs: 5 },
    { type: "release" },
    { type: "hostLost", seenAt: 4 },
    { type: "hostBack" },
    { type: "hostEnded", reason: "browser_crashed" },
    opened,
    { type: "tick" },
  ];
  for (const event of events) expect(step(state, event, 1e12)).toBe(state);
  expect(timers(state)).toEqual({});
});

test("duties come with the change and never without one", () => {
  expect(duties(creating, active)).toEqual(["reservation", "usage", "host"]);
  expect(duties(creating, failed)).toEqual(["reservation"]);
  expect(duties(creating, released)).toEqual(["reservation"]);
  for (const ended of [released, expired]) {
    expect(duties(active, ended)).toEqual(["reservation", "usage", "host", "slot"]);
    expect(duties(ended, ended)).toEqual([]);
  }
  expect(duties(active, { ...active, awaySince: 3 })).toEqual([]);
});

describe("a client that comes back while its host opens its socket", () => {
  const left = step(attached, closed("clean"), 100);
  const graceEnds = 100 + LIMITS.lingerMs;

  test.each([
    ["after its goodbye was heard", step(left, { type: "arriving" }, 200)],
    [
      "before its goodbye was heard",
      step(step(attached, { type: "arriving" }, 90), closed("clean"), 100),
    ],
  ])("%s is not cut by its grace", (_when, back) => {
    const late = step(back, { type: "tick" }, graceEnds + 5_000);
    expect(late).toMatchObject({ status: "active" });
    const opens = { ...active, detached: { how: "clean", since: 100 } };
    expect(step(late, { type: "attached", opens: 2 }, graceEnds + 5_001)).toEqual({
      ...opens,
      sockets: { opens: 1, closes: 1 },
      claim: { opens: 2, since: graceEnds + 5_001, asked: 0 },
    });
  });

  test("has its grace and no more when the socket does not open", () => {
    const back = step(left, { type: "arriving" }, 200);
    const gone = step(back, { type: "notArrived" }, graceEnds + 50);
    expect(step(gone, { type: "tick" }, graceEnds + 51)).toMatchObject({
      status: "released",
      reason: "client_disconnected",
      endedAt: graceEnds,
    });
  });

  test("is waited for no longer than its host may take", () => {
    const back = step(left, { type: "arriving" }, 200);
    const end = 200 + LIMITS.slotUpgradeMs;
    expect(timers(back)).toMatchObject({ linger: end });
    expect(step(back, { type: "tick" }, end)).toMatchObject({ status: "released", endedAt: end });
  });

  test("and is the first one needs no such wait", () => {
    expect(step(active, { type: "arriving" }, 200)).toEqual(active);
  });
});

describe("a session that is handed to a person", () => {
  const gone: Active = { ...active, detached: { how: "clean", since: 0 } };
  const wish = { kind: "login", successUrl: "https://a.test/**" } as const;
  const began: SessionEvent = { type: "handoffBegan", id: "ho_1", expiresAt: 600_000, wish };
  const pending = step(gone, began, 10) as Active;

  test("is held for them though its client has gone, until the hand-off is over", () => {
    expect(pending.handoff).toEqual({
      id: "ho_1",
      number: 1,
      status: "pending",
      createdAt: 10,
      expiresAt: 600_000,
      ...wish,
    });
    expect(timers(pending)).toEqual({ expire: 1e9, handoff: 600_000 });
    const leased = step({ ...active, lease: { idleMs: 1_000, renewedAt: 0 } }, began, 10);
    expect(timers(leased)).toEqual({ expire: 1e9, handoff: 600_000 });
  });

  test("ends by hand or by its time, and its client has the grace anew", () => {
    const taken = step(pending, { type: "handoffTaken", id: "ho_1" }, 20);
    expect(taken).toMatchObject({ handoff: { status: "active" } });
    const end = { as: "completed", finalUrl: "https://a.test/in" } as const;
    const done = step(taken, { type: "handoffEnded", id: "ho_1", ...end }, 5_000) as Active;
    expect(done).toMatchObject({ handoff: { status: "completed" }, detached: { since: 5_000 } });
    expect(done.handoff?.finalUrl).toBe(end.finalUrl);
    expect(timers(done)).toEqual({ expire: 1e9, linger: 5_000 + LIMITS.lingerMs });
    const late = step(taken, { type: "tick" }, 600_001);
    expect(late).toMatchObject({ handoff: { status: "expired" }, detached: { since: 600_000 } });
  });

  test("is handed to one at a time: a second hand-off, and one that is over, change nothing", () => {
    expect(step(pending, { ...began, id: "ho_2" }, 30)).toEqual(pending);
    expect(step(pending, { type: "handoffTaken", id: "ho_2" }, 30)).toEqual(pending);
    const done = step(pending, { type: "handoffEnded", id: "ho_1", as: "cancelled" }, 40);
    expect(step(done, { type: "handoffTaken", id: "ho_1" }, 50)).toEqual(done);
    expect(step(done, { ...began, id: "ho_2" }, 60)).toMatchObject({
      handoff: { id: "ho_2", status: "pending" },
    });
  });

  test("that its own login has is with nobody else, and no person takes it", () => {
    const login = step(gone, { ...began, wish: { kind: "autologin" } }, 10) as Active;
    expect(login.handoff).toMatchObject({ kind: "autologin", status: "active" });
    expect(step(login, { type: "handoffTaken", id: "ho_1" }, 20)).toEqual(login);
  });

  test("tells its viewers whenever somebody comes for it, or has it no more, and its recording when it is over", () => {
    const taken = step(pending, { type: "handoffTaken", id: "ho_1" }, 20);
    const done = step(taken, { type: "handoffEnded", id: "ho_1", as: "cancelled" }, 30);
    const late = step(taken, { type: "tick" }, 600_001);
    expect(duties(gone, pending)).toEqual([]);
    expect(duties(pending, taken)).toEqual(["handoff"]);
    expect(duties(taken, done)).toEqual(["handoff", "hiding"]);
    expect(duties(taken, late)).toEqual(["handoff", "hiding"]);
    expect(duties(pending, step(pending, { type: "tick" }, 600_001))).toEqual(["hiding"]);
  });

  test("numbers the news of its hand-offs, so that what is told late is known by it", () => {
    const over = step(pending, { type: "tick" }, 600_001) as Active;
    const next = step(over, { ...began, id: "ho_2", expiresAt: 900_000 }, 600_500) as Active;
    const news = [pending, over, next].map(({ handoff }) => handoff && newsOf(handoff));
    expect(news).toEqual([
      { seq: 2, isOpen: true },
      { seq: 3, isOpen: false },
      { seq: 4, isOpen: true },
    ]);
  });
});
