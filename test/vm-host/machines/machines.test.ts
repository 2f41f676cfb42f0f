import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { VmMetrics } from "@svc/contract/vm/metrics.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RawData, WebSocket } from "ws";
import { missingMachine } from "../rig/needs.ts";
import { bearer } from "../../support/process/host-rig.ts";
import { Rig, pathOf } from "../rig/rig.ts";

const MACHINE_MS = 400_000;
const PATIENCE_MS = 200_000;

const textOf = (data: RawData): string => (Buffer.isBuffer(data) ? data.toString() : "");

describe.skipIf(await missingMachine())("machines", { timeout: MACHINE_MS }, () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    // The first one boots, where no template of this size is there yet.
    await rig.place("one", { envs: { COLOUR: "blue" } });
    await rig.template();
    await rig.place("two");
  }, 2 * MACHINE_MS);
  afterAll(() => rig?.stop());

  test("a create reports what it got, and a repeat of it the same machine", async () => {
    const placed = await rig.place("one");
    expect(placed).toMatchObject({ cpu: 2, memMb: 512, diskGb: 4, isolation: "dedicated" });
    expect(placed.enforcement).toEqual({ cpu: "vm", memMb: "vm" });
    expect(await rig.sh("one", "nproc; echo $COLOUR")).toBe("2\nblue");
  });

  test("the second of a size is a clone", async () => {
    expect((await rig.place("two")).how).toBe("clone");
  });

  test("no shell stands between exec and the program", async () => {
    expect(await rig.exec("one", "ls -la")).toMatchObject({ exitCode: 127 });
    const { stdout } = await rig.exec("one", "printf", ["%s", "$HOME;*"]);
    expect(stdout).toBe("$HOME;*");
  });

  test("a shell line works with a shell, heredoc and all", async () => {
    expect(await rig.sh("one", "cat <<X\nline\nX\nexit 3")).toBe("line");
    expect((await rig.exec("one", "sh", ["-c", "exit 3"])).exitCode).toBe(3);
  });

  test("a command past its time is 124 and leaves no process", async () => {
    const late = await rig.exec("one", "sh", ["-c", "sleep 7700 & sleep 7700"], { timeoutMs: 500 });
    expect(late).toMatchObject({ exitCode: 124, timedOut: true });
    await expect.poll(() => rig.sh("one", "pgrep -f 'sleep 7[7]00' | wc -l")).toBe("0");
  });

  test("a command whose caller goes away ends with all it started, and others go on", async () => {
    const caller = new AbortController();
    const line = "sleep 7100 & sleep 7100";
    const body = { cmd: "sh", args: ["-c", line] };
    const init = { signal: caller.signal };
    const running = rig.call("POST", `${pathOf("one")}/exec`, "one", body, init);
    const gone = running.then(
      () => "answered",
      () => "cut",
    );
    const other = rig.exec("one", "sh", [
      "-c",
      "until [ -e /tmp/go ]; do sleep 0.2; done; echo on",
    ]);
    const count = () => rig.sh("one", "pgrep -xf 'sleep 7100' | wc -l");
    await expect.poll(count, { timeout: PATIENCE_MS, interval: 500 }).toBe("2");
    caller.abort();
    expect(await gone).toBe("cut");
    await expect.poll(count, { timeout: PATIENCE_MS, interval: 500 }).toBe("0");
    await rig.sh("one", "touch /tmp/go");
    expect((await other).stdout).toBe("on\n");
    expect(rig.stderr).not.toContain("a request failed");
  });

  test("of a machine without a screen there is no stream: 404", async () => {
    const { url, headers } = await rig.socket("one", "stream");
    const socket = new WebSocket(url, { headers });
    socket.on("error", () => undefined);
    const [, answer] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
    expect(answer.statusCode).toBe(404);
  });

  test("Python with its libraries", async () => {
    const code =
      "import numpy, pandas; print(numpy.arange(3).sum(), pandas.DataFrame({'a': [1]}).size)";
    const { stdout } = await rig.exec("one", "python3", ["-c", code], { timeoutMs: PATIENCE_MS });
    expect(stdout).toBe("3 1\n");
  });

  test("the clock is right", async () => {
    const before = Date.now();
    const { stdout } = await rig.exec("two", "date", ["+%s%3N"]);
    expect(Number(stdout)).toBeGreaterThan(before - 5_000);
    expect(Number(stdout)).toBeLessThan(Date.now() + 5_000);
  });

  test("clones differ in randomness, names and seeds", async () => {
    await rig.place("twin");
    const line = [
      "cat /etc/machine-id /proc/sys/kernel/hostname",
      "head -c 16 /dev/urandom | od -An -tx1",
      "python3 -c 'import random; print(random.random())'",
    ].join("; ");
    const [left, right] = await Promise.all([rig.sh("two", line), rig.sh("twin", line)]);
    const rights = right.split("\n");
    const same = left.split("\n").filter((text, index) => text === rights[index]);
    await rig.delete("twin");
    expect(same).toEqual([]);
    expect(rights).toHaveLength(4);
  });

  // The kernel makes it at the first reading: nothing may read it before the freeze.
  test("clones differ in the kernel's boot id", async () => {
    await rig.place("twin");
    const line = "cat /proc/sys/kernel/random/boot_id";
    const [left, right] = await Promise.all([rig.sh("two", line), rig.sh("twin", line)]);
    await rig.delete("twin");
    expect(left).not.toBe(right);
  });

  test("files go in and come out as they are", async () => {
    const bytes = randomBytes(8 * 1024 * 1024);
    const path = `${pathOf("one")}/files?path=${encodeURIComponent("/root/new folder/ä.bin")}`;
    const put = await rig.call("PUT", path, "one", undefined, { body: bytes });
    expect(await put.json()).toMatchObject({ ok: true, bytes: bytes.length });
    const got = await rig.call("GET", path, "one");
    expect(got.headers.get("content-type")).toBe("application/octet-stream");
    expect(Buffer.from(await got.arrayBuffer()).equals(bytes)).toBe(true);
  });

  test.each([
    ["a missing file", "/nowhere", 404],
    ["a path that is not absolute", "etc/passwd", 400],
    ["a path with ..", "/root/../etc", 400],
    ["a folder", "/etc", 400],
  ])("%s is refused", async (_name, path, status) => {
    const target = `${pathOf("one")}/files?path=${encodeURIComponent(path)}`;
    expect((await rig.call("GET", target, "one")).status).toBe(status);
  });

  test("a port answers 425 until something listens, then as it would inside", async () => {
    const path = `${pathOf("one")}/ports/8123/sub/x.txt?y=1`;
    expect((await rig.call("GET", path, "one")).status).toBe(425);
    await rig.sh("one", "mkdir -p /srv/sub; echo hello > /srv/sub/x.txt");
    const serve = "cd /srv; setsid python3 -m http.server --bind 127.0.0.1 8123 >/dev/null 2>&1 &";
    await rig.sh("one", serve);
    let answer = await rig.call("GET", path, "one");
    for (let tries = 0; answer.status === 425 && tries < 400; tries += 1) {
      await pause(500);
      answer = await rig.call("GET", path, "one");
    }
    expect([answer.status, await answer.text()]).toEqual([200, "hello\n"]);
  });

  test("an upgrade to a server inside passes byte by byte", async () => {
    const code = `require("http").createServer().on("upgrade", (q, s) => { s.write("HTTP/1.1 101 x\\r\\n" +
      "Upgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: " + require("crypto").createHash("sha1")
      .update(q.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64") +
      "\\r\\n\\r\\n"); s.write(Buffer.from([0x81, 2, 104, 105])); s.resume() }).listen(8200, "127.0.0.1")`;
    await rig.sh(
      "one",
      `mkdir -p /srv; cat > /srv/up.js <<'X'\n${code}\nX\nsetsid node /srv/up.js >/dev/null 2>&1 &`,
    );
    const said = async (): Promise<string> => {
      const { url, headers } = await rig.socket("one", "ports/8200/chat");
      const webSocket = new WebSocket(url, { headers });
      webSocket.on("error", () => {});
      const [data] = await Promise.race([once(webSocket, "message"), pause(5_000, [])]);
      webSocket.terminate();
      return data === undefined ? "" : textOf(data);
    };
    await expect.poll(said, { timeout: MACHINE_MS / 2 }).toBe("hi");
  });

  test.each(["ports/0/", "ports/65536/", "ports/abc/"])("%s is no port", async (rest) => {
    expect((await rig.call("GET", `${pathOf("one")}/${rest}`, "one")).status).toBe(400);
  });

  test("metrics have all five fields", async () => {
    const response = await rig.call("GET", `${pathOf("one")}/metrics`, "one");
    const metrics = VmMetrics.parse(await response.json());
    expect(metrics).toMatchObject({ contextScoped: false });
    expect(metrics.memTotalBytes).toBeGreaterThan(400 * 1024 * 1024);
    expect(metrics.memBytes).toBeLessThan(metrics.memTotalBytes);
    expect(metrics.diskBytes).toBeGreaterThan(500 * 1024 * 1024);
    expect(metrics.cpuPct).toBeGreaterThanOrEqual(0);
  });

  test("a control socket says hello and answers message by message", async () => {
    const { url, headers } = await rig.socket("one");
    const webSocket = new WebSocket(url, ["svc.control.v1"], { headers });
    const messages: Record<string, unknown>[] = [];
    webSocket.on("message", (data, isBinary) => {
      if (!isBinary) messages.push(JSON.parse(textOf(data)));
    });
    await once(webSocket, "open");
    expect(webSocket.protocol).toBe("svc.control.v1");
    const params = { cmd: "echo", args: ["hi"] };
    webSocket.send(JSON.stringify({ jsonrpc: "2.0", id: 7, method: "commands.run", params }));
    await expect.poll(() => messages.length).toBe(2);
    expect(messages[0]).toMatchObject({ method: "rpc.hello" });
    expect(messages[1]).toMatchObject({ id: 7, result: { exitCode: 0, stdout: "hi\n" } });
    webSocket.close();
    await once(webSocket, "close");
  });

  test("methods of the host are none of a customer's", async () => {
    const { url, headers } = await rig.socket("one");
    const webSocket = new WebSocket(url, { headers });
    await once(webSocket, "open");
    const params = { port: 8123 };
    webSocket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ports.dial", params }));
    const answers: string[] = [];
    webSocket.on("message", (data) => answers.push(textOf(data)));
    await expect.poll(() => answers.join()).toContain("-32601");
    webSocket.terminate();
  });

  test("a disk grows to what is asked for, and no smaller than its image", async () => {
    expect((await rig.place("wide", { diskGb: 7 })).diskGb).toBe(7);
    const blocks = Number(await rig.sh("wide", "df --output=size -B1M / | tail -1"));
    expect(blocks).toBeGreaterThan(6_500);
    await rig.delete("wide");
    expect((await rig.place("narrow", { diskGb: 1 })).diskGb).toBe(4);
    await rig.delete("narrow");
  });

  test("what is released is gone: no process, no answer", async () => {
    await rig.place("brief");
    expect((await rig.delete("brief")).status).toBe(204);
    expect((await rig.delete("brief")).status).toBe(204);
    const metrics = await rig.call("GET", `${pathOf("brief")}/metrics`, "brief");
    expect(metrics.status).toBe(404);
  });

  test("heartbeats list what is here, and what they say to end is ended", async () => {
    await rig.place("spare");
    await rig.gateway.report("spare", ({ state }) => state === "running");
    rig.gateway.end = ["spare"];
    const isWithout = await rig.gateway.beat(({ vms }) => !vms.some(({ id }) => id === "spare"));
    expect(isWithout.vms.length).toBeGreaterThan(0);
  });

  test.each([
    ["no bearer", undefined],
    ["another id's bearer", "two"],
  ])("%s is 401", async (_name, id) => {
    const headers: Record<string, string> = id
      ? { authorization: `Bearer ${await bearer(id)}` }
      : {};
    const response = await fetch(new URL(pathOf("one"), rig.ready.url), {
      method: "DELETE",
      headers,
    });
    expect(response.status).toBe(401);
  });

  test.each([
    ["recording", { record: true }],
    ["image", { source: { type: "image" as const, name: "nonsense" } }],
  ])("what is not built is a missing capability: %s", async (missing, ask) => {
    const response = await rig.put("odd", ask);
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({
      code: "HostCapabilityMissing",
      missingCapabilities: [missing],
    });
  });

  test.each([{ cpu: 0 }, { cpu: 9 }, { memMb: 0 }, { diskGb: 21 }, { envs: { A: "\0" } }])(
    "%o is malformed",
    async (ask) => expect((await rig.put("bad", ask)).status).toBe(400),
  );
});
