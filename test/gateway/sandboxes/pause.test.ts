import { expect, test, vi } from "vitest";
import { ends, running } from "../../support/worker/asleep.ts";
import { call } from "../../support/worker/gateway.ts";
import { newSandbox } from "../../support/worker/vm-host.ts";

test("a pause saves the machine, ends the bill, frees the place; again it is the same", async () => {
  const { host, key, orgId, id, path, post } = await running();
  for (let n = 0; n < 2; n += 1) {
    const response = await post("pause");
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ state: "paused" });
  }
  expect(await host.calls("POST", "pause")).toHaveLength(1);
  expect(await host.states()).toEqual({ [id]: "paused" });
  const list = await call("/sandboxes?state=paused", { bearer: key });
  expect(await list.json()).toMatchObject({ sandboxes: [{ sandboxId: id, state: "paused" }] });
  await vi.waitFor(async () => expect(await ends(orgId)).toEqual([true]), 30_000);
  // Its place is free, and reading it wakes nothing.
  await newSandbox(key);
  const record = await call(path, { bearer: key });
  expect(await record.json()).toMatchObject({ state: "paused" });
});

test("many pauses at once are one", async () => {
  const { host, post } = await running();
  const answers = await Promise.all(Array.from({ length: 5 }, () => post("pause")));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(await host.calls("POST", "pause")).toHaveLength(1);
});

test.each([
  ["unable", 409, { code: "HostCapabilityMissing", missingCapabilities: ["snapshots"] }],
  ["missing", 409, { code: "NotRunning" }],
  ["fault", 502, { code: "HostRejected", retryable: true }],
])(
  "a pause where the host answers %s is %i, and the sandbox runs on",
  async (mode, status, body) => {
    const { host, post, state } = await running();
    await host.steer({ pause: mode });
    const response = await post("pause");
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject(body);
    expect(await state()).toBe("running");
  },
);

test("a pause whose answer is lost is 502; what the host says next is the truth", async () => {
  const { host, post, state } = await running();
  await host.steer({ pause: "lost" });
  const response = await post("pause");
  expect(response.status).toBe(502);
  expect(await response.json()).toMatchObject({ code: "HostUnreachable", retryable: true });
  expect((await host.beat()).end).toEqual([]);
  expect(await state()).toBe("paused");
});

test("a pause cuts a command that runs: 409", async () => {
  const { host, post } = await running();
  await host.steer({ exec: "hang" });
  const waiting = post("exec", { cmd: "sleep" });
  await vi.waitFor(async () => expect(await host.calls("POST", "exec")).toHaveLength(1), 30_000);
  expect((await post("pause")).status).toBe(200);
  const response = await waiting;
  expect(response.status).toBe(409);
  expect(await response.json()).toMatchObject({ code: "NotRunning" });
});
