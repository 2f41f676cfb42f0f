import { once } from "node:events";
import { StateRefused, VmPaused, VmParked } from "@svc/contract/host-protocol/vm-states.ts";
import { VmMetrics } from "@svc/contract/vm/metrics.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { WebSocket } from "ws";
import { openControlClient } from "../../support/process/control-client.ts";
import { signalIfThere } from "../../support/process/process-tree.ts";
import { bodyOf, drafted, pause, pidsOf, post, resume } from "../rig/acts.ts";
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
  /** Resolves when the host has all that was sent before. */
  async function heard(socket: WebSocket): Promise<void> {
    socket.ping();
    await once(socket, "pong");
  }
  function signalAll(signal: NodeJS.Signals): void {
    for (const pid of pidsOf(rig)) signalIfThere(pid, signal);
  }
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
    const wait = "touch /run/begun; until [ -e /run/go ]; do sleep 0.2; done; echo done";
    const command = rig.sh("used", wait);
    await expect.poll(() => rig.sh("used", "ls /run/begun")).toBe("/run/begun");
    for (const act of ["park", "pause", "end"]) expect(await busy("used", act, 1)).toBe(0);
    await rig.sh("used", "touch /run/go");
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
    const { client, socket } = await control("ordered");
    const cut = client.ask("commands.run", { cmd: "sleep", args: ["600"] }).catch(() => "cut");
    await heard(socket);
    expect(await busy("ordered", "pause", 1)).toBe(0);
    expect((await pause(rig, "ordered")).state).toBe("paused");
    expect(await cut).toBe("cut");
    await rig.delete("ordered");
  });

  test("that comes while the machine is saved is answered: the machine goes on, parked before or not", async () => {
    await rig.place("saved");
    const { client, hello, socket } = await control("saved");
    await hello;
    for (const isParked of [false, true]) {
      if (isParked) await bodyOf(await rest("saved", "park", 0), 200);
      const saving = drafted(rig.stateDir);
      // Its process stands still, and with it the saving, until the request is there.
      signalAll("SIGSTOP");
      const pausing = busy("saved", "pause", 0);
      await saving;
      const answer = client.ask("commands.run", { cmd: "echo", args: ["here"] });
      await heard(socket);
      signalAll("SIGCONT");
      expect((await answer).stdout).toBe("here\n");
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
