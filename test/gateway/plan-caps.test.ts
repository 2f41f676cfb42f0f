import { TemplateList } from "@svc/contract/vm/template.ts";
import { describe, expect, test, vi } from "vitest";
import { call, newOrg, unhurried } from "../support/worker/gateway.ts";
import { callerOf, snapshotting } from "../support/worker/snapshots.ts";
import {
  newBuildHost,
  newTemplate,
  post,
  readyTemplate,
  until,
} from "../support/worker/templates.ts";
import { newSandbox } from "../support/worker/vm-host.ts";

describe("snapshots of an org", () => {
  test("are as many as its plan allows; one beyond is 403, asks no host, and leaves nothing", async () => {
    const { host, taken, take, list, remove } = await snapshotting({}, { snapshots: 2 });
    const { snapshotId } = await taken();
    await taken();
    const response = await take();
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({
      error: expect.any(String),
      code: "PlanLimitExceeded",
      plan: "professional",
      cap: 2,
      kind: "snapshot",
    });
    expect(await host.calls("POST", "snapshot")).toHaveLength(2);
    expect((await list()).snapshots).toHaveLength(2);
    await remove(`/snapshots/${snapshotId}`);
    expect((await take()).status).toBe(201);
  });

  test("are never more, of however many that are taken at once", async () => {
    unhurried();
    const { key, id } = await snapshotting({}, { snapshots: 3 });
    const { sandboxId } = await newSandbox(key);
    const takers = [id, sandboxId].map((one) => callerOf(key, one));
    const answers = await Promise.all(
      takers.flatMap(({ take }) => Array.from({ length: 4 }, () => take())),
    );
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([201, 201, 201, 403, 403, 403, 403, 403]);
  });

  test("that failed do not count, and other orgs' neither", async () => {
    const { host, take, list } = await snapshotting({}, { snapshots: 1 });
    await host.steer({ snapshot: "fault" });
    expect((await take()).status).toBe(502);
    await host.steer({});
    expect((await take()).status).toBe(201);
    expect((await list()).snapshots.map(({ state }) => state)).toEqual(["ready", "failed"]);
    expect((await take()).status).toBe(403);
    const other = await snapshotting({}, { snapshots: 1 });
    expect((await other.take()).status).toBe(201);
  });
});

describe("templates of an org", () => {
  test("are as many as its plan allows; one beyond is 403, and takes no place for builds", async () => {
    await newBuildHost();
    const { key } = await newOrg("professional", { templates: 1 });
    const { templateId } = await readyTemplate(key);
    // Its place for builds is free a moment after it is ready.
    const response = await vi.waitFor(async () => {
      const answer = await post(key, {
        name: "a",
        compiled: { from: { template: "base" }, steps: [] },
      });
      expect(answer.status).not.toBe(429);
      return answer;
    }, 30_000);
    expect([response.status, await response.json()]).toEqual([
      403,
      {
        error: expect.any(String),
        code: "PlanLimitExceeded",
        plan: "professional",
        cap: 1,
        kind: "template",
      },
    ]);
    const listed = async () => {
      const { templates } = TemplateList.parse(
        await (await call("/templates", { bearer: key })).json(),
      );
      return templates.filter((one) => "createdAt" in one).map((one) => one.templateId);
    };
    expect(await listed()).toEqual([templateId]);
    await call(`/templates/${templateId}`, { method: "DELETE", bearer: key });
    const next = await vi.waitFor(() => newTemplate(key), 30_000);
    expect(await listed()).toEqual([next.templateId]);
  });

  test("that failed do not count", async () => {
    const host = await newBuildHost();
    await host.steer({ build: "fail" });
    const { key } = await newOrg("professional", { templates: 1 });
    const { templateId } = await newTemplate(key);
    expect(await until(key, templateId)).toMatchObject({ state: "failed" });
    await host.steer({});
    // Written to the list a moment later.
    await vi.waitFor(() => newTemplate(key), 30_000);
  });
});
