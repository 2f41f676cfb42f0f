import type { Template } from "@svc/contract/vm/template.ts";
import { expect, test, vi } from "vitest";
import { call, newOrg } from "../../support/worker/gateway.ts";
import {
  logs,
  newBuildHost,
  newTemplate,
  read,
  readyTemplate,
} from "../../support/worker/templates.ts";

test("a cancel of a build is 202, and the build failed; the host lets go of it", async () => {
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

test("a cancel before any host has the build, a second cancel, and a cancel of a ready template are 202", async () => {
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
