import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { expect, test } from "vitest";
import {
  type SessionClaim,
  type SessionHold,
  UNCAPPED,
} from "../../../durable-objects/org/messages.ts";
import { sandboxView } from "../../support/worker/vm-host.ts";

let orgs = 0;
const newOrg = () => env.ORGS.getByName(`org-${(orgs += 1)}`);

const claim = (id: string, facts: Partial<SessionClaim> = {}): SessionClaim => ({
  id,
  kind: "browser",
  cap: 3,
  browserKind: "fast",
  createdAt: 1,
  expiresAt: Date.now() + 3_600_000,
  lapsesAt: Date.now() + 60_000,
  ...facts,
});
const kept = (id: string): SessionHold => {
  const { cap: _cap, lapsesAt: _lapsesAt, ...facts } = claim(id);
  return facts;
};
const ending = { status: "released", closeReason: "released", endedAt: Date.now() } as const;

test("for a cap of N exactly N of any number of concurrent claims pass", async () => {
  const org = newOrg();
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, n) => org.reserve(claim(`s${n}`))),
  );
  expect(answers.filter(({ reserved }) => reserved)).toHaveLength(3);
  const refused = answers.find(({ reserved }) => !reserved);
  expect(refused).toEqual({ reserved: false, holders: ["s0", "s1", "s2"] });
});

test("browsers and VMs are counted apart", async () => {
  const org = newOrg();
  await org.reserve(claim("b", { cap: 1 }));
  const vm = { view: sandboxView("v"), cap: 1, kept: UNCAPPED, lapsesAt: 2 ** 42 };
  const reserved = await org.reserveSandbox(vm);
  expect(reserved).toEqual({ reserved: true });
});

const listed = async (org: ReturnType<typeof newOrg>) =>
  (await org.sessions({ limit: 10, cursor: null, status: null })).lines.map(({ id }) => id);

test("a claim lapses, one that is kept does not", async () => {
  const org = newOrg();
  const past = Date.now() - 1;
  await org.reserve(claim("kept", { cap: 2, lapsesAt: past }));
  await org.keep(kept("kept"));
  await org.reserve(claim("lapsed", { cap: 2, lapsesAt: past }));
  expect(await listed(org)).toEqual(["kept"]);
  expect(await org.reserve(claim("next", { cap: 2 }))).toEqual({ reserved: true });
  expect(await listed(org)).toEqual(["next", "kept"]);
});

test("a session that lives holds a slot though its claim had lapsed; one that ended holds none", async () => {
  const org = newOrg();
  await org.reserve(claim("late", { cap: 1, lapsesAt: Date.now() - 1 }));
  expect(await org.reserve(claim("next", { cap: 1 }))).toEqual({ reserved: true });
  await org.drop("next");
  await org.keep(kept("late"));
  await org.keep(kept("late"));
  expect(await org.reserve(claim("more", { cap: 1 }))).toEqual({
    reserved: false,
    holders: ["late"],
  });
  await org.end(kept("late"), ending);
  await org.keep(kept("late"));
  expect(await org.reserve(claim("more", { cap: 1 }))).toEqual({ reserved: true });
});

test.each([
  ["end", (org: ReturnType<typeof newOrg>) => org.end(kept("a"), ending)],
  ["drop", (org: ReturnType<typeof newOrg>) => org.drop("a")],
])("%s frees the claim, and again is harmless", async (_name, free) => {
  const org = newOrg();
  await org.reserve(claim("a", { cap: 1 }));
  await org.keep(kept("a"));
  await free(org);
  await free(org);
  expect(await org.reserve(claim("b", { cap: 1 }))).toEqual({ reserved: true });
  expect(await org.reserve(claim("c", { cap: 1 }))).toMatchObject({ reserved: false });
});

test("an ended session stays listed with its reason, a failed create does not", async () => {
  const org = newOrg();
  await org.reserve(claim("a"));
  await org.end(kept("a"), ending);
  await org.reserve(claim("b"));
  await org.drop("b");
  const { lines } = await org.sessions({ limit: 10, cursor: null, status: null });
  expect(lines).toMatchObject([{ id: "a", ended: ending }]);
});

test("an ended session is listed though its claim had lapsed, and its last word counts", async () => {
  const org = newOrg();
  await org.reserve(claim("a", { cap: 1, lapsesAt: Date.now() - 1 }));
  await org.reserve(claim("b", { cap: 1 }));
  const expired = { ...ending, status: "expired", closeReason: "expired" } as const;
  await org.end(kept("a"), expired);
  expect(await org.session("a")).toMatchObject({ id: "a", ended: expired });
  await org.end(kept("a"), ending);
  expect(await org.session("a")).toMatchObject({ id: "a", ended: ending });
});

test("a session long after its deadline holds no slot, and is asked how it ended", async () => {
  const org = newOrg();
  const expiresAt = Date.now() - LIMITS.overdueMs - 1;
  await org.reserve(claim("a", { cap: 1, expiresAt }));
  expect(await org.reserve(claim("b", { cap: 1 }))).toEqual({ reserved: true });
  for (const status of ["live", "released", "expired", null] as const) {
    const { lines } = await org.sessions({ limit: 10, cursor: null, status });
    expect(lines).toContainEqual(
      expect.objectContaining({ id: "a", ended: null, isOverdue: true }),
    );
  }
});

test("a 429 names at most twenty holders", async () => {
  const org = newOrg();
  for (let n = 0; n < 25; n += 1) await org.reserve(claim(`s${n}`, { cap: 25 }));
  const refused = await org.reserve(claim("x", { cap: 25 }));
  expect(refused.reserved ? [] : refused.holders).toHaveLength(20);
});
