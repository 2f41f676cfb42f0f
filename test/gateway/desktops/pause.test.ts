import { expect, test, vi } from "vitest";
import { refusalOf, runningDesktop } from "../../support/worker/desktops.ts";
import { ends } from "../../support/worker/asleep.ts";

test("a desktop is paused and resumed in its own words, with the bill of a sandbox", async () => {
  const { host, id, orgId, act, read } = await runningDesktop();
  for (let n = 0; n < 2; n += 1) {
    const response = await act("pause");
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ sessionId: id, status: "paused" });
  }
  expect(await host.calls("POST", "pause")).toHaveLength(1);
  expect(await read()).toMatchObject({ status: "paused", expiresAt: expect.any(String) });
  const resumed = await act("resume");
  expect(resumed.status).toBe(200);
  expect(await resumed.json()).toEqual({ sessionId: id, status: "ready" });
  expect(await read()).toMatchObject({ status: "ready" });
  await vi.waitFor(async () => expect(await ends(orgId)).toEqual([true, false]), 30_000);
  const again = await act("resume");
  expect(again.status).toBe(409);
  expect(await again.json()).toMatchObject({ code: "NotPaused" });
});

test("many pauses of a desktop at once are one, and a resume waits for it", async () => {
  const { host, act, read } = await runningDesktop();
  const answers = await Promise.all(["pause", "pause", "pause"].map((what) => act(what)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(await host.calls("POST", "pause")).toHaveLength(1);
  await act("resume");
  const both = await Promise.all([act("pause"), act("resume")]);
  expect(both.map(({ status }) => status)).toEqual([200, 200]);
  expect(await read()).toMatchObject({ status: "ready" });
});

test.each([
  ["unable", 409, "HostCapabilityMissing", true],
  ["missing", 409, "NotRunning", false],
  ["fault", 502, "HostRejected", true],
  ["lost", 502, "HostUnreachable", true],
])(
  "a pause of a desktop where the host answers %s is %i",
  async (mode, status, code, isTransient) => {
    const { host, act } = await runningDesktop();
    await host.steer({ pause: mode });
    expect(await refusalOf(await act("pause"))).toEqual([status, code, isTransient]);
  },
);
