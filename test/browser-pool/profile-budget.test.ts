import { LIMITS } from "@svc/contract/limits.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { signalIfThere } from "../support/process/process-tree.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { browsersOf } from "./processes.ts";
import { Rig } from "./rig.ts";

const STATE = {
  origins: [{ origin: "https://site.example", localStorage: [{ name: "n", value: "v" }] }],
};

describe.skipIf(await missingBrowser())("a profile", () => {
  let rig: Rig;
  let count = 0;
  let id: string;

  beforeAll(async () => {
    rig = await Rig.start({ env: { SVC_MAX_FAST: "2" } });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    count += 1;
    id = `s${count}`;
  });

  function stored(): { profile: { statePath: string } } {
    const statePath = `/objects/${id}.signed`;
    rig.gateway.objects.set(statePath, { status: 200, body: JSON.stringify(STATE) });
    return { profile: { statePath } };
  }

  const browsers = (): number[] => browsersOf(rig.child.pid ?? 0);

  test("that does not come in its time costs no browser", async () => {
    await rig.warm();
    const before = browsers();
    const statePath = `/objects/${id}.signed`;
    rig.gateway.objects.set(statePath, { status: 200, body: "{}", isHeld: true });
    const refused = await rig.put(id, { profile: { statePath } });
    expect([refused.status, await refused.json()]).toMatchObject([
      502,
      { code: "ProfileUnavailable", retryable: true },
    ]);
    expect(browsers()).toEqual(before);
  });

  test("that a browser does not load in its time is given up with that browser", async () => {
    await rig.warm();
    const stuck = browsers();
    expect(stuck.length).toBeGreaterThan(0);
    for (const pid of stuck) signalIfThere(pid, "SIGSTOP");
    const began = performance.now();
    const refused = await rig.put(id, stored());
    expect([refused.status, await refused.json()]).toMatchObject([
      502,
      { code: "ProfileUnavailable", retryable: true },
    ]);
    // What the gateway waits for beyond an idle pool's own time.
    expect(performance.now() - began).toBeLessThan(LIMITS.profileLoadMs + LIMITS.hostAnswerMs);
    // Another browser takes it.
    await rig.place(id, stored());
  });
});
