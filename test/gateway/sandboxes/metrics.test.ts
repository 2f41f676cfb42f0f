import { expect, test } from "vitest";
import { running } from "../../support/worker/asleep.ts";
import { call } from "../../support/worker/gateway.ts";

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
