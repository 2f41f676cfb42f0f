import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import { describe, expect, test, vi } from "vitest";
import { DutyRecord } from "../../../durable-objects/live/duty-record.ts";
import type { StoredTemplate } from "../../../durable-objects/template/record.ts";
import { TEMPLATE_TABLE } from "../../../durable-objects/template/table.ts";
import { templateObject } from "../../../durable-objects/template.ts";
import { app } from "../../../src/app.ts";
import { call, clearFleet, json, newOrg } from "../../support/worker/gateway.ts";
import {
  anotherBuildHost,
  bodyOf,
  logs,
  newBuildHost,
  newTemplate,
  post,
  printed,
  read,
  until,
} from "../../support/worker/templates.ts";

const isTaken = async (key: string, id: string) =>
  vi.waitFor(async () => {
    expect((await logs(key, id)).entries).not.toEqual([]);
  }, 30_000);

const change = (org: string, id: string, to: (template: StoredTemplate) => StoredTemplate) =>
  runInDurableObject(templateObject(env, org, id), (_object, { storage }) => {
    const store = new DutyRecord(storage, TEMPLATE_TABLE);
    const template = store.load();
    if (!template) throw new Error("there is no template");
    store.write(to(template));
  });

describe("a gateway that is restarted", () => {
  test("while a host builds hears it to its end, each line once", async () => {
    const host = await newBuildHost();
    await host.steer({ build: "hang" });
    const { key, orgId } = await newOrg("professional");
    const { templateId } = await newTemplate(key);
    await isTaken(key, templateId);
    for (let times = 0; times < 3; times += 1) {
      await evictDurableObject(templateObject(env, orgId, templateId));
      expect(await read(key, templateId)).toMatchObject({ state: "building" });
    }
    await host.steer({ build: "ok" });
    expect(await until(key, templateId)).toMatchObject({ state: "ready" });
    const { entries } = await logs(key, templateId);
    expect(printed(entries)).toEqual(["1 did run", "2 did write"]);
  });

  test("before a host has the build takes it to one", async () => {
    await clearFleet();
    const { key, orgId } = await newOrg("professional");
    const { templateId } = await newTemplate(key);
    await evictDurableObject(templateObject(env, orgId, templateId));
    await newBuildHost();
    expect(await until(key, templateId)).toMatchObject({ state: "ready" });
  });
});

describe("a host that", () => {
  test("was killed and is back without the build is given it anew", async () => {
    const host = await newBuildHost();
    await host.steer({ build: "hang" });
    const { key } = await newOrg("professional");
    const { templateId } = await newTemplate(key);
    await isTaken(key, templateId);
    await host.steer({ build: "forgot" });
    expect(await until(key, templateId)).toMatchObject({ state: "ready", step: 2 });
    const { entries } = await logs(key, templateId);
    expect(entries.map(({ line }) => line)).toContain(
      "The host has lost the build. It begins anew.",
    );
  });

  test("loses it again and again fails the build in the end", async () => {
    const host = await newBuildHost();
    await host.steer({ build: "lost" });
    const { key } = await newOrg("professional");
    const { templateId } = await newTemplate(key);
    expect(await until(key, templateId)).toMatchObject({
      state: "failed",
      error: { message: "The hosts that built it were lost." },
    });
  });

  test("is away for long is left for another one, and told to let go when it is back", async () => {
    const host = await newBuildHost();
    await host.steer({ build: "hang" });
    const { key, orgId } = await newOrg("professional");
    const { templateId } = await newTemplate(key);
    await isTaken(key, templateId);
    await host.steer({ build: "drop" });
    const other = await anotherBuildHost();
    await change(orgId, templateId, (template) => {
      if (template.state.status !== "building") throw new Error("it is over");
      const heardAt = Date.now() - TEMPLATE_LIMITS.hostLostMs;
      return { ...template, state: { ...template.state, heardAt } };
    });
    expect(await until(key, templateId)).toMatchObject({ state: "ready" });
    expect((await other.steer()).templates).toContain(templateId);
    await host.steer({ build: "ok" });
    await vi.waitFor(async () => {
      await runDurableObjectAlarm(templateObject(env, orgId, templateId));
      const { calls } = await host.steer();
      expect(calls.some(({ method }) => method === "DELETE")).toBe(true);
    }, 30_000);
    expect((await other.steer()).templates).toContain(templateId);
  });

  test.each(["fault", "drop", "lacking"])(
    "answers %s to a build is asked again, while another one takes it",
    async (build) => {
      const host = await newBuildHost();
      await host.steer({ build });
      const { key } = await newOrg("professional");
      const { templateId } = await newTemplate(key);
      const other = await anotherBuildHost();
      expect(await until(key, templateId)).toMatchObject({ state: "ready" });
      expect((await other.steer()).templates).toContain(templateId);
    },
  );

  test("cannot be told to forget is told again", async () => {
    const host = await newBuildHost();
    const { key, orgId } = await newOrg("professional");
    const { templateId } = await newTemplate(key);
    await until(key, templateId);
    await host.steer({ build: "fault" });
    const stub = templateObject(env, orgId, templateId);
    const removed = await call(`/templates/${templateId}`, { method: "DELETE", bearer: key });
    expect(removed.status).toBe(200);
    expect(await stub.read()).toBeNull();
    await host.steer({ build: "ok" });
    await vi.waitFor(async () => {
      await runDurableObjectAlarm(stub);
      expect((await host.steer()).templates).not.toContain(templateId);
    }, 30_000);
    // Then nothing of it is kept.
    await vi.waitFor(async () => {
      await runInDurableObject(stub, (_object, { storage }) => {
        expect(new DutyRecord(storage, TEMPLATE_TABLE).load()).toBeNull();
      });
    }, 30_000);
  });
});

describe("a part of the gateway that fails:", () => {
  const fail = () => Promise.reject(new Error("it is broken"));
  const broken = { getByName: () => new Proxy({}, { get: () => fail }) };
  const DB = { prepare: () => ({ bind: () => ({ run: fail, first: fail, all: fail }) }) };

  test.each<[string, string, object, number, string]>([
    ["POST", "/templates", { TEMPLATES: broken }, 503, "ObjectUnavailable"],
    ["GET", "/templates/tpl_1", { TEMPLATES: broken }, 503, "ObjectUnavailable"],
    ["GET", "/templates/tpl_1/logs", { TEMPLATES: broken }, 503, "ObjectUnavailable"],
    ["POST", "/templates/tpl_1/cancel", { TEMPLATES: broken }, 503, "ObjectUnavailable"],
    ["DELETE", "/templates/tpl_1", { TEMPLATES: broken }, 503, "ObjectUnavailable"],
    ["GET", "/templates", { DB }, 502, "ControlPlaneUnavailable"],
  ])("%s %s with %o", async (method, path, bindings, status, code) => {
    const { key } = await newOrg("professional");
    await call("/templates", { bearer: key });
    const init = method === "POST" ? json(bodyOf()) : { method };
    const headers = { authorization: `Bearer ${key}` };
    const response = await app.request(path, { ...init, headers }, { ...env, ...bindings });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ code, retryable: true });
  });

  test("an org that cannot be asked is 503, and nothing is begun", async () => {
    const host = await newBuildHost();
    const { key, orgId } = await newOrg("professional");
    // An own property hides the method: the call fails as one to an object that is broken.
    const stub = env.ORGS.getByName(orgId);
    await runInDurableObject(stub, (object) => void Object.assign(object, { reserveBuild: null }));
    const refused = await post(key, bodyOf());
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ code: "AdmissionUnavailable", retryable: true });
    expect((await host.steer()).calls).toEqual([]);
    await evictDurableObject(stub);
    // To its end, so that it comes to no host of another test.
    const { templateId } = await newTemplate(key);
    await until(key, templateId);
  });

  test("a database that cannot be written is 502, and what was begun is undone", async () => {
    const host = await newBuildHost();
    const { key } = await newOrg("professional");
    await env.DB.exec("ALTER TABLE templates RENAME TO templates_away");
    const refused = await post(key, bodyOf()).finally(() =>
      env.DB.exec("ALTER TABLE templates_away RENAME TO templates"),
    );
    expect(refused.status).toBe(502);
    expect(await refused.json()).toMatchObject({ code: "ControlPlaneUnavailable" });
    expect((await host.steer()).calls.filter(({ method }) => method === "POST")).toEqual([]);
    // The org's place for builds is free.
    await vi.waitFor(async () => expect((await post(key, bodyOf())).status).toBe(202), 30_000);
  });
});
