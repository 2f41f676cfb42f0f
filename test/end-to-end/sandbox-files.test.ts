import { randomBytes } from "node:crypto";
import { ExecResult } from "@svc/contract/vm/exec.ts";
import { SignedFileUrl } from "@svc/contract/vm/files.ts";
import { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { RealMachines } from "../support/process/real-machines.ts";
import { missingMachine } from "../vm-host/rig/needs.ts";

// Emulated machines on a busy computer: waits are for what happens, these only end what never does.
const PATIENCE = { timeout: 300_000, interval: 500 };
const LONG = 900_000;

describe.skipIf(await missingMachine())("a real sandbox by signed URLs", { timeout: LONG }, () => {
  let call: RealMachines["call"];
  let machines: RealMachines;
  let id: string;

  beforeAll(async () => {
    machines = await RealMachines.start();
    ({ call } = machines);
    // While the host has no machine ready it says that it will have one.
    id = await vi.waitFor(async () => {
      const answer = await call("/sandboxes", "POST");
      if (answer.status >= 500) throw new Error(await answer.text());
      return SandboxCreated.parse(await answer.json()).sandboxId;
    }, PATIENCE);
  }, LONG);
  afterAll(() => machines?.close());

  async function run(line: string): Promise<string> {
    const body = { cmd: "bash", args: ["-c", line] };
    const answer = await call(`/sandboxes/${id}/exec`, "POST", body);
    const { stdout, stderr } = ExecResult.parse(await answer.json());
    return (stdout + stderr).trim();
  }

  async function urlOf(mode: "download" | "upload", path: string): Promise<string> {
    const query = `?path=${encodeURIComponent(path)}`;
    const answer = await call(`/sandboxes/${id}/files/${mode}-url${query}`);
    return SignedFileUrl.parse(await answer.json()).url;
  }

  const put = async (path: string, body: Buffer | string) =>
    fetch(await urlOf("upload", path), { method: "PUT", body });
  const get = async (path: string) => fetch(await urlOf("download", path));

  test("says what is no plain file, for good, and neither reads nor writes it", async () => {
    const lines = [
      "mkdir /root/odd && cd /root/odd",
      "mkfifo fifo; ln -s circle circle; ln -s nowhere/x dangling; ln -s /etc out",
      "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'",
    ];
    await run(lines.join("\n"));
    const odd: [string, RegExp][] = [
      ["/root/odd", /it is a directory$/],
      ["/root/odd/out", /it is a directory$/],
      ["/root/odd/fifo", /it is a FIFO, not a plain file$/],
      ["/root/odd/socket", /it is a socket, not a plain file$/],
      ["/dev/zero", /it is a device, not a plain file$/],
      ["/root/odd/circle", /links lead in a circle$/],
      [`/root/${"x".repeat(256)}`, /longer than 255 bytes$/],
    ];
    for (const [path, words] of odd) {
      const body = { code: "GuestRefused", detail: expect.stringMatching(words) };
      for (const answer of [await get(path), await put(path, "x")])
        expect([path, answer.status, await answer.json()]).toMatchObject([path, 400, body]);
    }
    const lost = await get("/root/odd/dangling");
    expect([lost.status, await lost.json()]).toMatchObject([404, { code: "NotFound" }]);
    expect((await put("/root/odd/dangling", "x")).status).toBe(400);
  });

  test("takes and gives a name that is no UTF-8, and one of 255 bytes", async () => {
    const names = ["gr\\xf6\\xdfe", "y".repeat(255)];
    for (const name of names) {
      expect(await (await put(`/root/named/${name}`, "inside")).json()).toMatchObject({ ok: true });
      expect(await (await get(`/root/named/${name}`)).text()).toBe("inside");
    }
    const listed = await run("cd /root/named && ls -A | LC_ALL=C od -v -An -c | tr -d ' \\n'");
    expect(listed).toBe(`gr366337e\\n${"y".repeat(255)}\\n`);
  });

  test("serves one range of a file, its length, and a file of the kernel", async () => {
    const bytes = randomBytes(1_000_000);
    await put("/root/ranged", bytes);
    const url = await urlOf("download", "/root/ranged");
    const ask = (headers: Record<string, string>) => fetch(url, { headers });
    const whole = await ask({});
    const etag = whole.headers.get("etag") ?? "";
    expect(whole.headers.get("content-length")).toBe("1000000");
    expect(whole.headers.get("accept-ranges")).toBe("bytes");
    expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).toBe(true);
    const part = await ask({ range: "bytes=500000-", "if-range": etag });
    expect([part.status, part.headers.get("content-range")]).toEqual([
      206,
      "bytes 500000-999999/1000000",
    ]);
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(500_000))).toBe(true);
    const beyond = await ask({ range: "bytes=1000000-" });
    expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, "bytes */1000000"]);
    await run("echo more >> /root/ranged");
    const other = await ask({ range: "bytes=0-0", "if-range": etag });
    expect([other.status, other.headers.get("content-length")]).toEqual([200, "1000005"]);
    await other.body?.cancel();
    const head = await fetch(url, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "1000005"]);
    const kernel = await get("/proc/version");
    expect([kernel.status, kernel.headers.get("accept-ranges")]).toEqual([200, "none"]);
    expect(await kernel.text()).toMatch(/^Linux version/);
    expect(await (await get("/sys/class/net/lo/mtu")).text()).toBe("65536\n");
  });

  test("never gives a file that shrinks meanwhile as a whole one, nor one that grows without end", async () => {
    await run("head -c 64000000 /dev/zero > /root/shrinks; echo begun > /root/grows");
    const answer = await get("/root/shrinks");
    expect(answer.headers.get("content-length")).toBe("64000000");
    await run(": > /root/shrinks");
    await expect(answer.arrayBuffer()).rejects.toThrow("terminated");
    await run(
      "nohup sh -c 'while :; do echo more; done >> /root/grows' >/dev/null 2>&1 & echo $! > /root/pid; sleep 1",
    );
    const grown = await get("/root/grows");
    const text = await grown.text();
    expect(text.length).toBe(Number(grown.headers.get("content-length")));
    await run("kill $(cat /root/pid)");
  });

  test("keeps the old content when the disk is full", async () => {
    const disk = "mkdir -p /mnt/small && mount -t tmpfs -o size=1m small /mnt/small";
    await run(`${disk} && echo old > /mnt/small/kept`);
    const full = await put("/mnt/small/kept", Buffer.alloc(2_000_000));
    expect([full.status, await full.json()]).toMatchObject([
      400,
      { code: "GuestRefused", detail: "/mnt/small/kept: the disk is full" },
    ]);
    expect(await run("cat /mnt/small/kept; ls -A /mnt/small")).toBe("old\nkept");
    await run("mount -o remount,ro /mnt/small");
    const readOnly = await put("/mnt/small/kept", "new");
    expect([readOnly.status, await readOnly.json()]).toMatchObject([
      400,
      { code: "GuestRefused", detail: "/mnt/small/kept: the file system is read-only" },
    ]);
  });
});
