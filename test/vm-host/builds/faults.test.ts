import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BuildStep } from "@svc/contract/vm/template-steps.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { killIfThere } from "../../support/process/process-tree.ts";
import { pidsOf, recordsOf, runs } from "../rig/acts.ts";
import { build, built, drop, follow, lines, made, reportOf } from "../rig/builds.ts";
import { missingMachine } from "../rig/needs.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 400_000;
/** Two steps of a test's own: no other test has layers of them. */
const stepsOf = (name: string): [one: BuildStep, two: BuildStep] => [
  { type: "run", cmd: `echo one > /srv/one; echo did one # ${name}` },
  { type: "run", cmd: `echo two > /srv/two; echo did two # ${name}` },
];
const SLOW: BuildStep = { type: "run", cmd: "echo slow; sleep 1000" };

/** What a host keeps of machines that do not run: folders of records, and layers of disks. */
function keptBy({ stateDir }: Rig): { records: string[]; layers: string[] } {
  const folder = recordsOf(stateDir);
  const others = ["owner.json", "layers", "packing", "leftovers"];
  return {
    records: readdirSync(folder).filter((name) => !others.includes(name)),
    layers: readdirSync(join(folder, "layers")),
  };
}

describe.skipIf(await missingMachine())(
  "template builds that break off",
  { timeout: MACHINE_MS },
  () => {
    const stateDir = mkdtempSync(join(tmpdir(), "vmrig-"));
    let host: Rig;

    async function start(): Promise<void> {
      host = await Rig.start({ stateDir });
      await host.able();
    }
    async function restart(signal: NodeJS.Signals): Promise<void> {
      await host.end(signal);
      await host.gateway.stop();
      await start();
    }
    beforeAll(start, MACHINE_MS);
    afterAll(() => host?.stop());

    test("a host that was killed knows of no build, and begins with the layers that it had", async () => {
      const [one, two] = stepsOf("killed");
      const id = "tpl_killed0000000001";
      await build(host, id, [one, SLOW]);
      await follow(host, id, (_report, log) => lines(log).includes("2 slow"));
      await restart("SIGKILL");
      expect((await host.call("GET", `/templates/${id}`, id)).status).toBe(404);
      await runs(host, 0);
      const { report, log } = await built(host, id, [one, two]);
      expect(report.state).toBe("ready");
      expect(lines(log, "system")[0]).toContain("1 cached: run echo one");
      expect(lines(log, "stdout")).toEqual(["2 did two"]);
      // And what is ready is, after one more start of the host.
      await restart("SIGTERM");
      expect(await reportOf(host, id, 7)).toMatchObject({
        state: "ready",
        nextOffset: 7,
        got: { memMb: 512 },
      });
      expect((await build(host, id, [one])).status).toBe(202);
      expect((await made(host, "a", id)).how).toBe("fork");
      expect(await host.sh("a", "cat /srv/one /srv/two")).toBe("one\ntwo");
      await host.delete("a");
    });

    test("a machine that dies while it builds fails the build; the next one finds the layer before", async () => {
      const [one, two] = stepsOf("dies");
      await build(host, "tpl_dies000000000001", [one, SLOW]);
      await follow(host, "tpl_dies000000000001", (_report, log) => lines(log).includes("2 slow"));
      for (const pid of pidsOf(host)) killIfThere(pid);
      const { report } = await follow(host, "tpl_dies000000000001");
      expect(report).toMatchObject({
        state: "failed",
        step: 1,
        error: { step: 2, message: "The machine died." },
      });
      const again = await built(host, "tpl_dies000000000002", [one, two]);
      expect(lines(again.log, "stdout")).toEqual(["2 did two"]);
    });

    test("a build dropped at any moment leaves no machine and no template, and the next one is built", async () => {
      const [one, two] = stepsOf("dropped");
      // Prepared before, so that the moments are those of the build.
      await built(host, "tpl_base000000000001", [one]);
      const server = { start: { cmd: "sleep 1000", ready: { cmd: "false" } } };
      const moments: [string, object, (text: string[]) => boolean][] = [
        ["at once", {}, () => true],
        ["in a step", { steps: [SLOW] }, (text) => text.includes("1 slow")],
        ["while a server starts", server, (text) => text.includes("2 start sleep 1000")],
        ["while it is saved", { skipCache: true }, (text) => text.includes("2 saving")],
      ];
      for (const [at, [name, rest, isThen]] of moments.entries()) {
        const id = `tpl_moment000000000${at}`;
        await build(host, id, [one], rest);
        await follow(host, id, (_report, log) => isThen(lines(log)));
        expect([name, (await drop(host, id)).status]).toEqual([name, 204]);
        await expect.poll(() => [name, pidsOf(host).length]).toEqual([name, 0]);
        expect((await host.call("GET", `/templates/${id}`, id)).status).toBe(404);
        const source = { type: "snapshot", id, recordPath: "" } as const;
        expect([name, (await host.put("none", { source })).status]).toEqual([name, 409]);
      }
      expect((await built(host, "tpl_after00000000001", [one, two])).report.state).toBe("ready");
    });

    test("what a template and its layers took is free once they are gone", async () => {
      const [one, two] = stepsOf("small");
      const small = await Rig.start({ env: { SVC_LAYER_DISK_MB: "1" } });
      await small.able();
      const { report } = await built(small, "tpl_small00000000001", [one, two]);
      expect(report.state).toBe("ready");
      const again = await built(small, "tpl_small00000000002", [one, two]);
      // No layer fits into so little.
      expect(lines(again.log, "stdout")).toEqual(["1 did one", "2 did two"]);
      for (const id of ["tpl_small00000000001", "tpl_small00000000002"]) await drop(small, id);
      // What is in use just then goes a moment later.
      const kept = () => keptBy(small);
      await expect.poll(kept).toEqual({ records: [], layers: [] });
      await small.stop();
    });
  },
);
