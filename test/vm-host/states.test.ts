import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingMachine } from "./needs.ts";
import { Rig, pathOf } from "./rig.ts";

const MACHINE_MS = 180_000;

describe.skipIf(await missingMachine())("states", { timeout: MACHINE_MS }, () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    await rig.template();
    await rig.place("one", { envs: { COLOUR: "blue" } });
  }, 2 * MACHINE_MS);
  afterAll(() => rig?.stop());

  test("smoke", async () => {
    await rig.sh("one", "echo before > /root/f; (sleep 1000 & echo $! > /root/pid)");
    const post = async (name: string, body: object = {}) => {
      const at = performance.now();
      const response = await rig.call("POST", `${pathOf("one")}/${name}`, "one", body);
      const text = await response.text();
      console.log(name, response.status, text, Math.round(performance.now() - at));
      return response.status;
    };
    for (let i = 0; i < 4; i += 1) {
      expect(await post("pause")).toBe(200);
      expect(await post("resume")).toBe(200);
      console.log(await rig.sh("one", "cat /root/f; kill -0 $(cat /root/pid) && echo alive; date"));
    }
    expect(await post("snapshot", { snapshotId: "snap_1" })).toBe(201);
    const at = performance.now();
    const placed = await rig.place("fork", { source: { type: "snapshot", id: "snap_1", recordPath: "" } });
    console.log("fork", placed, performance.now() - at);
    console.log(await rig.sh("fork", "hostname; cat /root/f; date"));
    expect(await post("revert", { snapshotId: "snap_1" })).toBe(200);
    expect(await post("park")).toBe(200);
    console.log(await rig.sh("one", "hostname; cat /root/f; date"), rig.stderr);
  });
});
