import { TemplateList } from "@svc/contract/vm/template.ts";
import { expect, test, vi } from "vitest";
import { call, newOrg } from "../../support/worker/gateway.ts";
import { newBuildHost, newTemplate, readyTemplate, until } from "../../support/worker/templates.ts";

const remove = (key: string, id: string) =>
  call(`/templates/${id}`, { method: "DELETE", bearer: key });

test("a DELETE of a template is 409 while it is built, then 200, then 404; the host forgets it", async () => {
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

test("a DELETE of a template that failed is 200", async () => {
  const host = await newBuildHost();
  await host.steer({ build: "fail" });
  const { key } = await newOrg("professional");
  const { templateId } = await readyTemplate(key);
  expect((await remove(key, templateId)).status).toBe(200);
});
