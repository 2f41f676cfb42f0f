import { env } from "cloudflare:workers";
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { SessionCreated } from "@svc/contract/browser/session.ts";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { call, newOrg, newPool } from "../support/worker/gateway.ts";
import { ADMIN_TOKEN } from "../support/secrets.ts";

describe("Idempotency-Key on POST /sessions", async () => {
  const pool = await newPool();
  // One that is not heard for 15 s would be away.
  beforeEach(() => pool.beat());
  const { key, orgId } = await newOrg("professional");
  const create = (idempotencyKey: string, body = "{}", bearer = key) =>
    call("/sessions", {
      method: "POST",
      headers: { "idempotency-key": idempotencyKey },
      body,
      bearer,
    });

  test("a repeat replays the first answer to the byte, even after the session was released", async () => {
    const first = await create("a");
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    const text = await first.text();
    const { sessionId } = SessionCreated.parse(JSON.parse(text));
    await call(`/sessions/${sessionId}`, { method: "DELETE", bearer: key });
    await evictDurableObject(env.IDEMPOTENCY.getByName(`${orgId} a`));
    const again = await create("a");
    expect(again.status).toBe(201);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"));
    expect(await again.text()).toBe(text);
  });

  test("concurrent repeats wait for the first: one session in all", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => create("b")));
    const bodies = await Promise.all(answers.map((answer) => answer.text()));
    expect(new Set(bodies).size).toBe(1);
    const replayed = answers.filter(({ headers }) => headers.has("idempotent-replayed"));
    expect(replayed).toHaveLength(7);
  });

  test("a repeat waits although the object was evicted while the first one ran", async () => {
    await pool.steer({ put: "full" });
    const first = create("h");
    const object = env.IDEMPOTENCY.getByName(`${orgId} h`);
    const isRunning = () =>
      runInDurableObject(object, (_object, state) => state.storage.kv.get("kept") !== undefined);
    await vi.waitFor(async () => expect(await isRunning()).toBe(true), 30_000);
    await evictDurableObject(object);
    const second = create("h");
    await pool.steer({ put: "ok" });
    const answers = await Promise.all([first, second]);
    const bodies = await Promise.all(answers.map((answer) => answer.text()));
    expect(new Set(bodies).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
  });

  test("a run that nobody finished is void after its time, and one that comes late changes nothing", async () => {
    const object = env.IDEMPOTENCY.getByName(`${orgId} i`);
    const begun = await object.begin("f");
    await runDurableObjectAlarm(object);
    const again = await object.begin("f");
    expect([begun.type, again.type]).toEqual(["run", "run"]);
    if (begun.type !== "run" || again.type !== "run") throw new Error("no run");
    const answer = { status: 201, contentType: "text/plain", body: "late" };
    await object.finish(begun.runId, answer);
    await object.finish(again.runId, { ...answer, body: "right" });
    expect(await object.begin("f")).toMatchObject({ type: "replay", answer: { body: "right" } });
  });

  test("the order of keys does not matter, another body is 409", async () => {
    const first = await create("c", '{"x":{"a":1,"b":[2]},"y":null}');
    const same = await create("c", ' {"y":null, "x":{"b":[2],"a":1}}');
    expect(await same.text()).toBe(await first.text());
    for (const body of ['{"x":{"a":1,"b":[3]},"y":null}', "{}", "text"]) {
      const other = await create("c", body);
      expect(other.status).toBe(409);
      expect(await other.json()).toMatchObject({ code: "IdempotencyKeyReused" });
    }
  });

  test("another org's key of the same name is another key", async () => {
    const other = await newOrg("professional");
    const mine = await (await create("d")).text();
    const theirs = await create("d", "{}", other.key);
    expect(theirs.status).toBe(201);
    expect(await theirs.text()).not.toBe(mine);
  });

  test("a failure is not remembered, and a waiting repeat then runs by itself", async () => {
    const capped = await newOrg("free", { browsers: 0 });
    const refused = await Promise.all([
      create("e", "{}", capped.key),
      create("e", "{}", capped.key),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([429, 429]);
    const patch = { method: "PATCH", body: '{"overrides":{"browsers":1}}', bearer: ADMIN_TOKEN };
    await call(`/admin/orgs/${capped.orgId}`, patch);
    expect((await create("e", "{}", capped.key)).status).toBe(201);
  });

  test("a pool's refusal is not remembered either", async () => {
    await pool.steer({ put: "answer", status: "428" });
    expect((await create("f")).status).toBe(428);
    await pool.steer({ put: "ok" });
    expect((await create("f")).status).toBe(201);
  });

  test.each(["", "x".repeat(256)])("a key of the wrong length is 400: %o", async (name) => {
    const response = await create(name);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "InvalidIdempotencyKey" });
  });

  test("a key of 255 characters works", async () => {
    expect((await create("x".repeat(255))).status).toBe(201);
  });

  test("a stored answer is replayed though the plan has lost the feature since", async () => {
    await pool.beat({ kinds: { stealth: { idle: 5, busy: 0, recycling: 0 } } });
    const org = await newOrg("free");
    const first = await create("j", '{"stealth":true}', org.key);
    expect(first.status).toBe(201);
    const body = '{"overrides":{"features":{"stealth":false}}}';
    await call(`/admin/orgs/${org.orgId}`, { method: "PATCH", body, bearer: ADMIN_TOKEN });
    expect((await create("l", '{"stealth":true}', org.key)).status).toBe(402);
    const again = await create("j", '{"stealth":true}', org.key);
    expect([again.status, await again.text()]).toEqual([201, await first.text()]);
  });

  describe("the body is judged before a key that was used", async () => {
    await create("m");
    const captchaless = await newOrg("free", { features: { captcha: false } });
    await create("m", "{}", captchaless.key);

    test.each([
      ["a wrong shape", '{"proxy":"zz"}', 400],
      ["a proxy without stealth", '{"proxy":"us"}', 400],
      ["captcha without stealth", '{"captcha":true}', 400],
      ["allowedDomains without stealth", '{"allowedDomains":["a.example"]}', 400],
      ["nothing wrong", '{"lease":{"idleSeconds":5}}', 409],
    ])("%s: %s is %i", async (_name, body, status) => {
      expect((await create("m", body)).status).toBe(status);
    });

    test("a wire version that is none is 400", async () => {
      const headers = { "idempotency-key": "m", "x-svc-wire-version": "latest" };
      const response = await call("/sessions", {
        method: "POST",
        headers,
        body: "{}",
        bearer: key,
      });
      expect(response.status).toBe(400);
    });

    test("a refused feature that the order puts before a broken rule stays 402", async () => {
      expect((await create("m", '{"captcha":true}', captchaless.key)).status).toBe(402);
      expect((await create("n", '{"captcha":true}', captchaless.key)).status).toBe(402);
    });

    test("a refused feature alone is for the request itself: the used key is 409", async () => {
      const body = '{"stealth":true,"captcha":true}';
      expect((await create("m", body, captchaless.key)).status).toBe(409);
      expect((await create("n", body, captchaless.key)).status).toBe(402);
    });
  });

  test("after 24 hours the key is forgotten", async () => {
    const first = await (await create("g")).text();
    expect(await runDurableObjectAlarm(env.IDEMPOTENCY.getByName(`${orgId} g`))).toBe(true);
    expect(await (await create("g")).text()).not.toBe(first);
  });
});
