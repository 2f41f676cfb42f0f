import { once } from "node:events";
import { mintHostBearer } from "@svc/contract/tokens.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { missingMachine } from "../rig/needs.ts";
import { runs } from "../rig/acts.ts";
import { PLAIN, Rig, pathOf } from "../rig/rig.ts";
import { HOST_TOKEN } from "../../support/secrets.ts";

const MACHINE_MS = 400_000;
const SHARE = { isolation: "shared", memMb: 256 } as const;

/** add_key(2) of the user's keyring. */
const KEYS = [
  "import ctypes; l = ctypes.CDLL(None)",
  'assert l.syscall(248, b"user", b"x", b"y", 1, -4) > 0, "refused"',
].join("; ");

describe.skipIf(await missingMachine())("shares of a machine", { timeout: MACHINE_MS }, () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    await Promise.all([
      rig.place("left", { ...SHARE, envs: { SECRET: "of-left" } }),
      rig.place("right", SHARE),
    ]);
    const mark = "echo left > /tmp/mark; echo left > /root/mark; echo left > /dev/shm/mark";
    await rig.sh("left", mark);
    await rig.sh("left", "bash -c 'exec -a left-sleeper sleep 3600' >/dev/null 2>&1 &");
  }, MACHINE_MS);
  afterAll(() => rig?.stop());

  test("processes, files and environment of a neighbour are not there", async () => {
    expect(await rig.sh("left", "cat /tmp/mark /root/mark /dev/shm/mark; echo $SECRET")).toBe(
      "left\nleft\nleft\nof-left",
    );
    expect(await rig.sh("right", "ls /tmp /root /dev/shm")).not.toContain("mark");
    expect(await rig.sh("left", "pgrep -f left-sleepe[r] | wc -l")).not.toBe("0");
    expect(await rig.sh("right", "pgrep -f left-sleepe[r] | wc -l")).toBe("0");
    expect(await rig.sh("right", "cat /proc/[0-9]*/environ | tr '\\0' '\\n'")).not.toContain(
      "of-left",
    );
  });

  test("nothing of the machine around is in reach: its disk, its ports, its agent, other disks", async () => {
    const devices = await rig.sh("right", "ls /dev");
    expect(devices).not.toMatch(/vd|vport|loop|kmsg|mem|hvc|ttyS/);
    // A device that root makes for itself cannot be opened, and cannot be made.
    expect(await rig.sh("right", "mknod /dev/mine b 254 0; mknod /root/mine c 1 1")).toMatch(
      /Operation not permitted[\s\S]*Operation not permitted/,
    );
    expect(await rig.sh("right", "ls -A /svc /run/svc/shares 2>&1 | grep -c 'No such file'")).toBe(
      "2",
    );
    // To make the folder does not uncover what lies there in the machine.
    expect(await rig.sh("right", "mkdir /svc && ls -A /svc | wc -l; rmdir /svc")).toBe("0");
    expect(await rig.sh("right", "ps -e -o pid= | wc -l")).toMatch(/^[3-9]$/);
    expect(await rig.sh("right", "ss -xlnH | wc -l; ss -tlnH | wc -l")).toBe("0\n0");
    expect(await rig.sh("right", "echo x > /opt/svc/agent.mjs")).toContain("Read-only");
  });

  /** What root of a machine of its own can, and root of a share cannot. */
  const FORBIDDEN: [string, string][] = [
    ["mount", "mount -t tmpfs none /mnt"],
    ["make a user namespace", "unshare -Ur true"],
    ["make a mount namespace", "unshare -m true"],
    ["enter a namespace", "nsenter -t 1 -n true"],
    ["change the kernel", "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern"],
    ["ask the kernel for something", "echo h > /proc/sysrq-trigger"],
    ["load a module", "modprobe dummy && ip link add d0 type dummy"],
    ["set the clock", "date -s @$(date +%s)"],
    ["set its name", "hostname other"],
    ["configure a network", "ip addr add 10.0.2.200/32 dev lo"],
    ["capture packets", "python3 -c 'import socket; socket.socket(17, 3, 3)'"],
    ["send raw packets", "python3 -c 'import socket; socket.socket(2, 3, 1)'"],
    ["protect itself from the kernel", "echo -1000 > /proc/self/oom_score_adj"],
    ["read the kernel's log", "dmesg"],
    ["make a device", "mknod /root/device c 1 1"],
    ["use the kernel's keys, one store for all", `python3 -c '${KEYS}'`],
  ];

  test.each(FORBIDDEN)("root cannot %s", async (_name, line) => {
    const { exitCode, stderr } = await rig.exec("right", "sh", ["-c", line]);
    expect([exitCode === 0, stderr.length > 0]).toEqual([false, true]);
  });

  test("root of a machine of its own can all of that: it is the share that forbids it", async () => {
    await rig.place("own", { memMb: 512 });
    const codes: [string, number][] = [];
    for (const [name, line] of FORBIDDEN)
      codes.push([name, (await rig.exec("own", "sh", ["-c", line])).exitCode]);
    await rig.delete("own");
    expect(codes.filter(([, code]) => code !== 0)).toEqual([]);
  });

  test.each([
    ["memory", "memory.max"],
    ["tasks", "pids.max"],
    ["weight", "cpu.weight"],
  ])("root cannot change its own cap of %s", async (_name, file) => {
    const at = `/sys/fs/cgroup/${file}`;
    const before = await rig.sh("right", `cat ${at}`);
    expect(await rig.sh("right", `echo 300 > ${at}`)).toContain("I/O error");
    expect(await rig.sh("right", `cat ${at}`)).toBe(before);
  });

  test("a control socket is one to the share's own agent: commands, terminals, files, searches", async () => {
    const { url, headers } = await rig.socket("left");
    const webSocket = new WebSocket(url, { headers });
    const messages: { id?: number; result?: object }[] = [];
    webSocket.on("message", (data, isBinary) => {
      if (!isBinary && Buffer.isBuffer(data)) messages.push(JSON.parse(data.toString()));
    });
    await once(webSocket, "open");
    const ask = async (id: number, method: string, params: object) => {
      webSocket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      const find = () => messages.find((message) => message.id === id)?.result;
      await expect.poll(find, { timeout: 60_000 }).toBeDefined();
      return find();
    };
    const run = { cmd: "cat", args: ["/tmp/mark"] };
    expect(await ask(1, "commands.run", run)).toMatchObject({ stdout: "left\n" });
    expect(await ask(2, "files.stat", { path: "/tmp/mark" })).toMatchObject({ size: 5 });
    const search = { path: "/tmp", text: "left", limit: 1 };
    expect(await ask(4, "files.search", search)).toMatchObject({ matches: [{ line: 1 }] });
    expect(await ask(3, "pty.open", { cols: 80, rows: 24 })).toMatchObject({
      pid: expect.any(Number),
    });
    webSocket.terminate();
  });

  test("a neighbour's ports and the machine's own are out of reach, also through the network", async () => {
    const serve = "cd /tmp; python3 -m http.server 8123 --bind 0.0.0.0 >/dev/null 2>&1 &";
    await rig.sh("left", serve);
    const address = (await rig.sh("left", "hostname -I")).split(" ")[0] ?? "";
    expect(address).toMatch(/^10\.0\.2\.\d+$/);
    const get = (url: string) => `curl -s -o /dev/null -m 15 -w '%{http_code}' ${url}; true`;
    const ready = `for n in $(seq 100); do [ "$(${get(`http://${address}:8123/mark`)})" = 200 ] && break; sleep 0.2; done`;
    expect(await rig.sh("left", `${ready}; ${get(`http://${address}:8123/mark`)}`)).toBe("200");
    expect(await rig.sh("right", get(`http://${address}:8123/mark`))).toBe("000");
    expect(await rig.sh("right", get("http://127.0.0.1:8123/mark"))).toBe("000");
    // The host serves it from inside the share.
    const path = `${pathOf("left")}/ports/8123/mark`;
    expect(await (await rig.call("GET", path, "left")).text()).toBe("left\n");
    const other = `${pathOf("right")}/ports/8123/mark`;
    expect((await rig.call("GET", other, "right")).status).toBe(425);
  });

  test("the files of a share are those that its own processes see, links and all", async () => {
    const at = (path: string) => `${pathOf("right")}/files?path=${encodeURIComponent(path)}`;
    await rig.sh("left", "echo secret > /etc/left-only");
    await rig.sh("right", "ln -s /etc/left-only /root/link; ln -s /proc/1/root/svc /root/up");
    for (const path of ["/root/link", "/etc/left-only", "/proc/1/root/etc/left-only", "/root/up/x"])
      expect((await rig.call("GET", at(path), "right")).status).toBe(404);
    const put = await rig.call("PUT", at("/root/link"), "right", undefined, { body: "mine" });
    expect(put.status).toBe(200);
    expect(await rig.sh("right", "cat /etc/left-only")).toBe("mine");
    expect(await rig.sh("left", "cat /etc/left-only")).toBe("secret");
  });

  test("memory beyond the cap ends who took it, and nobody else", async () => {
    const hog = ["-c", "x = bytearray(600 << 20); print(len(x))"];
    expect(await rig.exec("right", "python3", hog)).toMatchObject({ exitCode: 137, oom: true });
    expect(await rig.sh("right", "echo alive")).toBe("alive");
    expect(await rig.sh("left", "pgrep -f left-sleepe[r] | wc -l")).not.toBe("0");
    const metrics = await (await rig.call("GET", `${pathOf("right")}/metrics`, "right")).json();
    expect(metrics).toMatchObject({ contextScoped: true, memTotalBytes: 256 * 1024 * 1024 });
    expect((metrics as { memBytes: number }).memBytes).toBeLessThan(256 * 1024 * 1024);
  });

  test("a fork bomb is held by its count of tasks; neighbours go on, and it can be ended", async () => {
    const bomb = "f() { f | f & }; f; sleep 3600";
    const bombing = rig.exec("right", "bash", ["-c", bomb], { timeoutMs: 5_000 });
    expect(await rig.sh("left", "echo alive")).toBe("alive");
    expect((await bombing).exitCode).toBe(124);
    expect(await rig.sh("right", "echo over")).toBe("over");
  });

  test("a share that was killed from inside is back with another agent, and its neighbour never noticed", async () => {
    await rig.sh("right", "pkill -KILL node; sleep 3600").catch(() => "");
    await expect
      .poll(() => rig.sh("right", "echo back").catch(() => ""), { timeout: 120_000, interval: 500 })
      .toBe("back");
    expect(await rig.sh("left", "cat /tmp/mark")).toBe("left");
  });

  test("another org is never in the same machine, and two first shares of an org make one", async () => {
    const placing = ["theirs", "theirs-too"].map(async (id) => {
      const token = await mintHostBearer(HOST_TOKEN, {
        org: "org_other",
        id,
        expiresAt: Date.now() + 60_000,
      });
      const headers = { authorization: `Bearer ${token}` };
      const answer = await rig.call("PUT", pathOf(id), id, { ...PLAIN, ...SHARE }, { headers });
      return answer.status;
    });
    expect(await Promise.all(placing)).toEqual([201, 201]);
    await runs(rig, 2);
    await Promise.all([rig.delete("theirs"), rig.delete("theirs-too")]);
  });

  test("DELETE ends its processes alone, and the last share takes the machine with it", async () => {
    expect((await rig.delete("right")).status).toBe(204);
    expect(await rig.sh("left", "cat /tmp/mark")).toBe("left");
    const { free } = await rig.gateway.beat(({ vms }) => vms.length === 1);
    expect((await rig.delete("left")).status).toBe(204);
    await rig.gateway.beat(({ vms, free: after }) => vms.length === 0 && after.slots > free.slots);
  });
});
