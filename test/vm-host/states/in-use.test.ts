import { StateRefused, VmPaused, VmParked } from "@svc/contract/host-protocol/vm-states.ts";
import { VmMetrics } from "@svc/contract/vm/metrics.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openControlClient } from "../../support/process/control-client.ts";
import { bodyOf, drafted, pause, post, resume } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Rig, pathOf } from "../rig/rig.ts";

const LONG = 300_000;
const HOUR_MS = 3_600_000;

describe.skipIf(await missingMachine())("the use of a machine", { timeout: LONG }, () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    await rig.template();
  }, LONG);
  afterAll(() => rig?.stop());

  const control = async (id: string) => {
    const { url, headers } = await rig.socket(id);
    return openControlClient(url, headers);
  };
  const rest = (id: string, act: string, unusedMs: number) => post(rig, id, act, { unusedMs });
  async function busy(id: string, act: string, unusedMs: number): Promise<number> {
    const refused = StateRefused.parse(await bodyOf(await rest(id, act, unusedMs), 409));
    expect(refused.code).toBe("Busy");
    return refused.unusedMs ?? -1;
  }
  const cpuPct = async (id: string): Promise<number> => {
    const answer = await rig.call("GET", `${pathOf(id)}/metrics`, id);
    return VmMetrics.parse(await bodyOf(answer, 200)).cpuPct;
  };
  const isParked = async (id: string, wanted: boolean): Promise<void> => {
    const { seq = 0 } = rig.gateway.last ?? {};
    await rig.gateway.report(id, ({ parked = false }) => parked === wanted, seq);
  };

  test("refuses every rest while a command runs, and later while the last use is too new", async () => {
    await rig.place("used");
    const command = rig.sh("used", "sleep 3; echo done");
    for (const act of ["park", "pause", "end"]) expect(await busy("used", act, 1)).toBe(0);
    expect(await command).toBe("done");
    for (const act of ["park", "pause", "end"])
      expect(await busy("used", act, HOUR_MS)).toBeLessThan(60_000);
    expect(VmParked.parse(await bodyOf(await rest("used", "park", 0), 200)).parked).toBe(true);
    const paused = VmPaused.parse(await bodyOf(await rest("used", "pause", 0), 200));
    expect(paused.state).toBe("paused");
    await resume(rig, "used");
    expect((await rest("used", "end", 0)).status).toBe(200);
    expect((await rest("used", "end", 0)).status).toBe(404);
  });

  test("does not keep a customer from a pause: what is under way is interrupted", async () => {
    await rig.place("ordered");
    const { client } = await control("ordered");
    const cut = client.ask("commands.run", { cmd: "sleep", args: ["600"] }).catch(() => "cut");
    expect(await busy("ordered", "pause", 1)).toBe(0);
    expect((await pause(rig, "ordered")).state).toBe("paused");
    expect(await cut).toBe("cut");
    await rig.delete("ordered");
  });

  test("that comes while the machine is saved is answered: the machine goes on, parked before or not", async () => {
    await rig.place("saved");
    // So much memory that to save it takes a while.
    await rig.sh("saved", "dd if=/dev/zero of=/dev/shm/f bs=1M count=200");
    const { client, hello } = await control("saved");
    await hello;
    for (const isParked of [false, true]) {
      if (isParked) await bodyOf(await rest("saved", "park", 0), 200);
      const saving = drafted(rig.stateDir);
      const pausing = busy("saved", "pause", 0);
      await saving;
      const answer = await client.ask("commands.run", { cmd: "echo", args: ["here"] });
      expect(answer.stdout).toBe("here\n");
      await pausing;
      expect(await rig.sh("saved", "echo still")).toBe("still");
    }
    await rig.delete("saved");
  });

  test("a control socket to a parked machine wakes it: rpc.hello comes at once, rpc.ping is answered", async () => {
    await rig.place("parked");
    await post(rig, "parked", "park");
    await isParked("parked", true);
    const { client, hello, socket } = await control("parked");
    expect(await hello).toMatchObject({ protocol: 1, kind: "sandbox" });
    expect(await client.ask("rpc.ping", {})).toEqual({});
    await isParked("parked", false);
    socket.close();
    await rig.delete("parked");
  });

  test("a ping on a socket of a machine that is parked is answered, and wakes nothing", async () => {
    await rig.place("pinged");
    const { client, hello, socket } = await control("pinged");
    await hello;
    // Pings that are under way while it is parked, too.
    const pings = Array.from({ length: 50 }, () => client.ask("rpc.ping", {}));
    expect((await rest("pinged", "park", 0)).status).toBe(200);
    for (const ping of pings) expect(await ping).toEqual({});
    expect(await client.ask("rpc.ping", {})).toEqual({});
    expect(await cpuPct("pinged")).toBe(0);
    await isParked("pinged", true);
    expect(await client.ask("commands.run", { cmd: "true" })).toMatchObject({ exitCode: 0 });
    await isParked("pinged", false);
    socket.close();
    await rig.delete("pinged");
  });
});
