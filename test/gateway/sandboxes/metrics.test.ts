import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { call, json, newOrg } from "../../support/worker/gateway.ts";
import { newSandbox, newVmHost } from "../../support/worker/vm-host.ts";

async function running() {
  const host = await newVmHost();
  const { key } = await newOrg("professional");
  const { sandboxId: id } = await newSandbox(key);
  const path = `/sandboxes/${id}`;
  const exec = (body: unknown) => call(`${path}/exec`, { ...json(body), bearer: key });
  return { host, key, id, path, exec, stub: env.SANDBOXES.getByName(id) };
}

test("metrics are the host's", async () => {
  const { path, key } = await running();
  const response = await call(`${path}/metrics`, { bearer: key });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    cpuPct: 1.5,
    memBytes: 100,
    memTotalBytes: 200,
    diskBytes: 300,
    contextScoped: false,
  });
});

test.each([
  ["missing", 404],
  ["drop", 404],
  ["fault", 502],
  ["odd", 502],
])("metrics of a host that answers %s are %i", async (metrics, status) => {
  const { host, path, key } = await running();
  await host.steer({ metrics });
  expect((await call(`${path}/metrics`, { bearer: key })).status).toBe(status);
});
