import { readFileSync } from "node:fs";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingMachine } from "../rig/needs.ts";
import { bodyOf, fork, pause, post, resume, snapshot } from "../rig/acts.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 400_000;
const LISTEN = "0A";

const isRoot = process.getuid?.() === 0;
const hindrance = (await missingMachine()) ?? (isRoot ? undefined : "rules need root");

/** The first address of this machine that is not loopback. */
const own = Object.values(networkInterfaces())
  .flatMap((entries) => entries ?? [])
  .find((entry) => entry.family === "IPv4" && !entry.internal)?.address;

describe.skipIf(hindrance)("the network of machines", { timeout: MACHINE_MS }, () => {
  const servers: Server[] = [];
  let rig: Rig;
  let outside = 0;
  let inside = 0;

  beforeAll(async () => {
    // One stands for the outside, the other for what this machine has for itself.
    [outside, inside] = [await serve(), await serve()];
    rig = await Rig.start({ env: { SVC_EGRESS_ALLOW: `127.0.0.1:${outside}` } });
    await rig.able();
    await Promise.all([rig.place("open"), rig.place("hard", { isolation: "hardened" })]);
  }, 2 * MACHINE_MS);
  afterAll(async () => {
    await rig?.stop();
    for (const server of servers) server.close();
  });

  async function serve(): Promise<number> {
    const server = createServer((_request, response) => response.end("reached"));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
    return (server.address() as AddressInfo).port;
  }

  const reach = (id: string, url: string, options = "") =>
    rig.sh(id, `curl -s -m 6 ${options} ${url} || echo refused`);
  /** The same of what is there: it may take its time. */
  const reachable = (id: string) => reach(id, `http://10.0.2.2:${outside}/`, "-m 100");

  test("the registration says how it is", async () => {
    const { weaknesses = [] } = rig.gateway.last ?? {};
    // A container may have no cgroups to give.
    expect(weaknesses.filter((text) => !text.includes("cgroups"))).toEqual([]);
    expect(rig.gateway.last).toMatchObject({
      isolation: "uid",
      egress: "filtered",
      egressAllow: [`127.0.0.1:${outside}`],
    });
  });

  test("the outside is reached", async () => {
    expect(await reachable("open")).toBe("reached");
  });

  test("the host's own loopback is not", async () => {
    expect(await reach("open", `http://10.0.2.2:${inside}/`)).toBe("refused");
  });

  test(
    "a share of a machine has the same way out, and names",
    { timeout: 4 * MACHINE_MS },
    async () => {
      await rig.place("share", { isolation: "shared" });
      expect(await reachable("share")).toBe("reached");
      expect(await reach("share", `http://10.0.2.2:${inside}/`)).toBe("refused");
      expect(await rig.sh("share", "cat /etc/resolv.conf")).toBe("nameserver 10.0.2.3");
      await rig.delete("share");
    },
  );

  // Some refusals take seconds in the guest: they wait beside each other.
  describe.concurrent("refuses", () => {
    test("the host's own loopback by a name", async () => {
      const resolve = `--resolve host.test:${inside}:10.0.2.2`;
      expect(await reach("open", `http://host.test:${inside}/`, resolve)).toBe("refused");
    });

    test.skipIf(own === undefined)("the address of the machine that the host is on", async () => {
      expect(await reach("open", `http://${own}:${inside}/`)).toBe("refused");
    });

    test.each(["169.254.169.254", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.100.100.200"])(
      "%s",
      async (address) => expect(await reach("open", `http://${address}/`)).toBe("refused"),
    );

    test.each(["[fec0::2]", "[fe80::2%25eth0]", "[::ffff:10.0.2.2]"])("%s", async (address) => {
      expect(await reach("open", `-g http://${address}:${inside}/`)).toBe("refused");
    });

    test("everything, names too, to a hardened guest", async () => {
      expect(await reach("hard", `http://10.0.2.2:${outside}/`)).toBe("refused");
      expect(await rig.sh("hard", "timeout 5 getent hosts example.com || echo none")).toBe("none");
    });
  });

  test("a hardened guest does not get its cable back", async () => {
    await rig.sh(
      "hard",
      "ip link set eth0 down; ip link set eth0 up; ip route add default via 10.0.2.2",
    );
    expect(await reach("hard", `http://10.0.2.2:${outside}/`)).toBe("refused");
    expect(await rig.sh("hard", "cat /sys/class/net/eth0/carrier")).toBe("0");
  });

  test(
    "a dedicated fork of a hardened machine has a network, its hardened fork none, also after a pause and a revert",
    { timeout: 4 * MACHINE_MS },
    async () => {
      await snapshot(rig, "hard", "snap_hard");
      await fork(rig, "freed", "snap_hard");
      expect(await reachable("freed")).toBe("reached");
      expect(await rig.sh("freed", "cat /etc/resolv.conf")).toBe("nameserver 10.0.2.3");
      await snapshot(rig, "freed", "snap_freed");
      await pause(rig, "freed");
      await resume(rig, "freed");
      expect(await reachable("freed")).toBe("reached");
      await bodyOf(await post(rig, "freed", "revert", { snapshotId: "snap_freed" }), 200);
      expect(await reachable("freed")).toBe("reached");
      const source = { type: "snapshot", id: "snap_freed", recordPath: "" } as const;
      await rig.place("shut", { source, isolation: "hardened" });
      await snapshot(rig, "shut", "snap_shut");
      await bodyOf(await post(rig, "shut", "revert", { snapshotId: "snap_shut" }), 200);
      expect(await rig.sh("shut", "cat /sys/class/net/eth0/carrier")).toBe("0");
      await Promise.all(["freed", "shut"].map((id) => rig.delete(id)));
    },
  );

  test("no machine listens where another could reach it", () => {
    const lines = readFileSync("/proc/net/tcp", "utf8").trim().split("\n").slice(1);
    const fields = lines.map((line) => line.trim().split(/\s+/));
    const listening = fields.filter(([, , , state]) => state === LISTEN);
    const theirs = listening.filter(
      (field) => Number(field[7]) >= 30_000 && Number(field[7]) < 50_000,
    );
    expect(theirs).toEqual([]);
  });
});
