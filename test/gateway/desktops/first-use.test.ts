import { expect, test, vi } from "vitest";
import { call, json, newOrg } from "../../support/worker/gateway.ts";
import { anotherVmHost, newVmHost } from "../../support/worker/vm-host.ts";

const ABLE = { capabilities: ["desktop"] };

test("while the image of office or code is built: 409, by one host, and a free host makes it", async () => {
  const host = await newVmHost({ ...ABLE, images: [{ name: "office", state: "building" }] });
  const free = { cpu: 64, memMb: 1_000_000, diskGb: 1000, slots: 99 };
  const other = await anotherVmHost({ ...ABLE, free });
  for (const one of [host, other]) await one.steer({ put: "unbuilt" });
  const { key } = await newOrg("starter");
  const create = () => call("/desktops", { ...json({ template: "office" }), bearer: key });
  const response = await create();
  expect(response.status).toBe(409);
  const refused = await response.json();
  expect(refused).toMatchObject({ code: "TemplateNotReady", hint: "It is at 3 %." });
  expect(refused).not.toHaveProperty("retryable");
  // The host that builds it already was asked, and no other one begins.
  expect(await host.calls("PUT")).toHaveLength(1);
  expect(await other.calls("PUT")).toEqual([]);
  await host.steer({ put: "ok" });
  await vi.waitFor(async () => {
    expect((await create()).status).toBe(201);
  }, 30_000);
});
