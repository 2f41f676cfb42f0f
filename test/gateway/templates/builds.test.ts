import { expect, test, vi } from "vitest";
import { call, newOrg } from "../../support/worker/gateway.ts";
import {
  bodyOf,
  logs,
  newBuildHost,
  newTemplate,
  post,
  printed,
  read,
  readyTemplate,
  STEPS,
  until,
} from "../../support/worker/templates.ts";

test("a build is building, then ready with the host's sizes, and its log says what its steps printed", async () => {
  const host = await newBuildHost();
  const { key } = await newOrg("professional");
  const begun = await newTemplate(key, bodyOf({}, { memMb: 100, cpu: 1 }));
  expect(begun).toMatchObject({ state: "building", step: 0, steps: 2, cpu: 1, memMb: 100 });
  expect(begun.templateId).toMatch(/^tpl_[0-9A-Za-z]{20}$/);
  const ready = await until(key, begun.templateId);
  expect(ready).toMatchObject({ state: "ready", step: 2, steps: 2, cpu: 1, memMb: 512 });
  expect(Date.parse(ready.readyAt ?? "")).toBeGreaterThanOrEqual(Date.parse(begun.createdAt));
  const page = await logs(key, begun.templateId);
  expect(printed(page.entries)).toEqual(["1 did run", "2 did write"]);
  expect(page).toMatchObject({ state: "ready", nextOffset: page.entries.length });
  expect(await logs(key, begun.templateId, 1)).toMatchObject({
    entries: page.entries.slice(1),
    nextOffset: page.nextOffset,
  });
  const [asked] = (await host.steer()).calls.filter(({ method, path }) => {
    return method === "POST" && path === `/templates/${begun.templateId}`;
  });
  expect(asked?.body).toMatchObject({ steps: STEPS, skipCache: false, kind: "sandbox" });
});

test("a build that fails says at which step, and why", async () => {
  const host = await newBuildHost();
  await host.steer({ build: "fail" });
  const { key } = await newOrg("professional");
  const { templateId } = await newTemplate(key);
  const failed = await until(key, templateId);
  const error = { step: 2, message: "false: exit code 1" };
  expect(failed).toMatchObject({ state: "failed", step: 1, error });
  const { entries, state } = await logs(key, templateId);
  expect([state, entries.at(-1)]).toMatchObject([
    "failed",
    { step: 2, stream: "system", line: error.message },
  ]);
  // Nothing of it stays at the host.
  await vi.waitFor(async () => {
    const { calls } = await host.steer();
    expect(calls.some(({ method }) => method === "DELETE")).toBe(true);
  }, 30_000);
});

test("a build waits for a host, and is taken once there is one", async () => {
  const host = await newBuildHost();
  await host.steer({ build: "full" });
  const { key } = await newOrg("professional");
  const { templateId } = await newTemplate(key);
  await vi.waitFor(async () => {
    const { calls } = await host.steer();
    expect(calls.filter(({ method }) => method === "POST").length).toBeGreaterThan(1);
  }, 30_000);
  expect(await read(key, templateId)).toMatchObject({ state: "building" });
  await host.steer({ build: "ok" });
  expect(await until(key, templateId)).toMatchObject({ state: "ready" });
  // The log says what it waited for, not each time that it was asked.
  const { entries } = await logs(key, templateId);
  expect(entries.filter(({ line }) => line === "No room here.")).toHaveLength(1);
});

test("an org has one build at a time, and the next may begin when it is over", async () => {
  const host = await newBuildHost();
  await host.steer({ build: "hang" });
  const { key } = await newOrg("professional");
  const { templateId } = await newTemplate(key);
  const second = await post(key, bodyOf());
  expect(second.status).toBe(429);
  expect(await second.json()).toMatchObject({
    code: "ConcurrencyLimitExceeded",
    kind: "template",
    cap: 1,
    holders: [templateId],
  });
  const { key: other } = await newOrg("professional");
  expect((await post(other, bodyOf())).status).toBe(202);
  await call(`/templates/${templateId}/cancel`, { method: "POST", bearer: key });
  await vi.waitFor(async () => {
    expect((await post(key, bodyOf())).status).toBe(202);
  }, 30_000);
});

test("a build is begun once for an Idempotency-Key", async () => {
  await newBuildHost();
  const { key } = await newOrg("professional");
  const headers = { "idempotency-key": "once" };
  const first = await post(key, bodyOf(), { headers });
  const again = await post(key, bodyOf(), { headers });
  expect([first.status, again.status]).toEqual([202, 202]);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(await again.text()).toBe(await first.text());
  const other = await post(key, bodyOf({}, { name: "other" }), { headers });
  expect(other.status).toBe(409);
});

test("a build is billed like a machine that ran so long", async () => {
  await newBuildHost();
  const { key } = await newOrg("professional");
  const { templateId } = await readyTemplate(key);
  await vi.waitFor(async () => {
    const usage = await (await call("/usage", { bearer: key })).json<{ segments: object[] }>();
    expect(usage.segments).toMatchObject([{ id: templateId, kind: "vm" }]);
  }, 30_000);
});
