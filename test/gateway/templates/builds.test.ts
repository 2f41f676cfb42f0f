import { env } from "cloudflare:workers";
import { type Template, TemplateList } from "@svc/contract/vm/template.ts";
import { describe, expect, test, vi } from "vitest";
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

describe("a build", () => {
  test("is building, then ready with the host's sizes, and its log says what its steps printed", async () => {
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

  test("that fails says at which step, and why", async () => {
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

  test("waits for a host, and is taken once there is one", async () => {
    const host = await newBuildHost();
    await host.steer({ build: "full" });
    const { key } = await newOrg("professional");
    const { templateId } = await newTemplate(key);
    await vi.waitFor(async () => {
      expect((await host.steer()).calls.some(({ method }) => method === "POST")).toBe(true);
    }, 30_000);
    expect(await read(key, templateId)).toMatchObject({ state: "building" });
    await host.steer({ build: "ok" });
    expect(await until(key, templateId)).toMatchObject({ state: "ready" });
  });

  test("is one at a time for an org, and the next may begin when it is over", async () => {
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

  test("is begun once for an Idempotency-Key", async () => {
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

  test("is billed like a machine that ran so long", async () => {
    await newBuildHost();
    const { key } = await newOrg("professional");
    const { templateId } = await readyTemplate(key);
    await vi.waitFor(async () => {
      const usage = await (await call("/usage", { bearer: key })).json<{ segments: object[] }>();
      expect(usage.segments).toMatchObject([{ id: templateId, kind: "vm" }]);
    }, 30_000);
  });
});

describe("cancel", () => {
  test("of a build is 202, and it failed; the host lets go of it", async () => {
    const host = await newBuildHost();
    await host.steer({ build: "hang" });
    const { key } = await newOrg("professional");
    const { templateId } = await newTemplate(key);
    await vi.waitFor(async () => {
      expect((await logs(key, templateId)).entries).not.toEqual([]);
    }, 30_000);
    const answer = await call(`/templates/${templateId}/cancel`, { method: "POST", bearer: key });
    expect(answer.status).toBe(202);
    const error = { step: 0, message: "The build was cancelled." };
    expect(await answer.json()).toMatchObject({ state: "failed", error });
    expect(await read(key, templateId)).toMatchObject({ state: "failed", error });
    await vi.waitFor(async () => {
      const { calls } = await host.steer();
      expect(calls.some(({ method }) => method === "DELETE")).toBe(true);
    }, 30_000);
  });

  test("before any host has it, and twice, and of one that is ready", async () => {
    const host = await newBuildHost();
    await host.steer({ build: "full" });
    const { key } = await newOrg("professional");
    const { templateId } = await newTemplate(key);
    for (let times = 0; times < 2; times += 1) {
      const answer = await call(`/templates/${templateId}/cancel`, { method: "POST", bearer: key });
      expect([answer.status, (await answer.json<Template>()).state]).toEqual([202, "failed"]);
    }
    await host.steer({ build: "ok" });
    const ready = await vi.waitFor(() => readyTemplate(key), 90_000);
    const path = `/templates/${ready.templateId}/cancel`;
    const answer = await call(path, { method: "POST", bearer: key });
    expect([answer.status, await answer.json()]).toEqual([202, ready]);
  });
});

describe("DELETE", () => {
  const remove = (key: string, id: string) =>
    call(`/templates/${id}`, { method: "DELETE", bearer: key });

  test("of a build is 409, of a template 200, then 404; the host forgets it", async () => {
    const host = await newBuildHost();
    await host.steer({ build: "hang" });
    const { key } = await newOrg("professional");
    const { templateId } = await newTemplate(key);
    const refused = await remove(key, templateId);
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({ code: "TemplateBuilding" });
    await host.steer({ build: "ok" });
    await until(key, templateId);
    expect((await host.steer()).templates).toContain(templateId);
    const removed = await remove(key, templateId);
    expect([removed.status, await removed.json()]).toEqual([200, { ok: true }]);
    expect((await remove(key, templateId)).status).toBe(404);
    expect((await call(`/templates/${templateId}`, { bearer: key })).status).toBe(404);
    const list = TemplateList.parse(await (await call("/templates", { bearer: key })).json());
    expect(list.templates.map((one) => one.templateId)).not.toContain(templateId);
    await vi.waitFor(
      async () => expect((await host.steer()).templates).not.toContain(templateId),
      30_000,
    );
  });

  test("of one that failed", async () => {
    const host = await newBuildHost();
    await host.steer({ build: "fail" });
    const { key } = await newOrg("professional");
    const { templateId } = await readyTemplate(key);
    expect((await remove(key, templateId)).status).toBe(200);
  });
});

test("the list has the built-in ones first, then the org's, newest first, as their records are", async () => {
  await newBuildHost();
  const { key } = await newOrg("professional");
  const { key: other } = await newOrg("professional");
  const first = await readyTemplate(key);
  const second = await vi.waitFor(() => readyTemplate(key), 90_000);
  const { templates } = TemplateList.parse(
    await (await call("/templates", { bearer: key })).json(),
  );
  expect(templates.slice(0, 5)).toMatchObject(
    ["base", "default", "workstation", "office", "code"].map((templateId) => {
      return { templateId, builtin: true, state: "ready" };
    }),
  );
  expect(templates.slice(5)).toEqual([second, first]);
  const [base] = templates;
  expect(await (await call("/templates/base", { bearer: key })).json()).toEqual(base);
  const others = TemplateList.parse(await (await call("/templates", { bearer: other })).json());
  expect(others.templates).toHaveLength(5);
});

test.each([
  ["GET", ""],
  ["GET", "/logs"],
  ["POST", "/cancel"],
  ["DELETE", ""],
])(
  "%s /templates/:id%s of another org's, or of nobody's, is the same 404",
  async (method, rest) => {
    await newBuildHost();
    const { key } = await newOrg("professional");
    const { key: other } = await newOrg("professional");
    const { templateId } = await readyTemplate(key);
    const answers = await Promise.all(
      [templateId, "tpl_AAAAAAAAAAAAAAAAAAAA", "nope", `${templateId}x`].map(async (id) => {
        const response = await call(`/templates/${id}${rest}`, { method, bearer: other });
        return [response.status, await response.text()];
      }),
    );
    expect(answers).toEqual(
      Array(4).fill([404, '{"error":"There is no such template.","code":"NotFound"}']),
    );
    // And nothing of it is kept.
    expect(await env.TEMPLATES.getByName(`x ${templateId}`).read()).toBeNull();
  },
);
