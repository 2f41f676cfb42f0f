import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingMachine } from "../rig/needs.ts";
import { Rig, pathOf } from "../rig/rig.ts";

const MACHINE_MS = 400_000;
const PATIENCE = { timeout: 300_000, interval: 500 };
/** The machine has 512 MiB: docs/IMAGE.md promises its commands 930 tasks. */
const NEARLY_ALL = 900;
/** Asks for 10,000 processes that wait, under a name that no other process has. */
const TEN_THOUSAND = `$0 = "many"; for (1..10000) { (fork // 1) or sleep } sleep`;
const BOMB = "bomb() { bomb | bomb & }; bomb; sleep 9000";
/** How often the kernel has refused one more task to each command that still runs. */
const REFUSALS = "cat /sys/fs/cgroup/svc-work/*/pids.events";

describe.skipIf(await missingMachine())("tasks of a machine", { timeout: MACHINE_MS }, () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    await rig.place("one");
  }, 2 * MACHINE_MS);
  afterAll(() => rig?.stop());

  const isRefused = async (): Promise<boolean> => /^max [1-9]/m.test(await rig.sh("one", REFUSALS));

  test("10,000 processes of a command leave room for another that ends them", async () => {
    const many = rig.exec("one", "perl", ["-e", TEN_THOUSAND]);
    await expect.poll(isRefused, PATIENCE).toBe(true);
    expect(Number(await rig.sh("one", "pgrep -xc many"))).toBeGreaterThan(NEARLY_ALL);
    expect(await rig.sh("one", "pkill -KILL -x many; echo ended")).toBe("ended");
    expect(await many).toEqual({ exitCode: 137, stdout: "", stderr: "" });
    await expect.poll(isRefused, PATIENCE).toBe(false);
  });

  test("a fork bomb leaves room for other commands, and ends with its own", async () => {
    const caller = new AbortController();
    const body = { cmd: "bash", args: ["-c", BOMB] };
    const init = { signal: caller.signal };
    const bomb = rig
      .call("POST", `${pathOf("one")}/exec`, "one", body, init)
      .catch((error: unknown) => error);
    await expect.poll(isRefused, PATIENCE).toBe(true);
    expect(await rig.sh("one", "ls / | grep -c usr")).toBe("1");
    caller.abort();
    expect(await bomb).toMatchObject({ name: "AbortError" });
    await expect.poll(isRefused, PATIENCE).toBe(false);
    // Killed processes are there until they are reaped.
    const left = () => rig.exec("one", "pgrep", ["-x", "bash"]);
    await expect.poll(left, PATIENCE).toMatchObject({ exitCode: 1 });
  });
});
