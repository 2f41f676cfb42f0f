import { expect, test } from "vitest";
import { refusalOf, runningDesktop } from "../../support/worker/desktops.ts";
import { call, json } from "../../support/worker/gateway.ts";
import { ADMIN_TOKEN } from "../../support/secrets.ts";

test.each([
  ["foreign", 409, "SnapshotNotRestorable", false],
  ["fault", 502, "HostRejected", true],
  ["full", 503, "NoCapacity", true],
  ["lost", 503, "NoCapacity", true],
  ["small", 507, "InsufficientCapacity", true],
])(
  "a resume of a desktop where the host answers %s is %i",
  async (mode, status, code, isTransient) => {
    const { host, act } = await runningDesktop();
    await act("pause");
    await host.steer({ resume: mode });
    expect(await refusalOf(await act("resume"))).toEqual([status, code, isTransient]);
  },
);

const patch = (orgId: string, body: object) =>
  call(`/admin/orgs/${orgId}`, { ...json(body, "PATCH"), bearer: ADMIN_TOKEN });

test.each([
  ["without credit", { creditCents: 0 }, 402, "InsufficientCredit"],
  ["without desktops", { overrides: { features: { desktops: false } } }, 403, "NotEntitled"],
  ["at its cap", { overrides: { vms: 0 } }, 429, "ConcurrencyLimitExceeded"],
])("a resume of a desktop of an org %s is refused", async (_name, change, status, code) => {
  const { act, orgId, read } = await runningDesktop();
  await act("pause");
  expect((await patch(orgId, change)).status).toBe(200);
  const response = await act("resume");
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ code });
  expect(await read()).toMatchObject({ status: "paused" });
});
