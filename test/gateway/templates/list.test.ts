import { TemplateList } from "@svc/contract/vm/template.ts";
import { expect, test, vi } from "vitest";
import { call, newOrg } from "../../support/worker/gateway.ts";
import { newBuildHost, readyTemplate } from "../../support/worker/templates.ts";

test("the list of templates has the built-in ones first, then the org's, newest first, as their records are", async () => {
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
