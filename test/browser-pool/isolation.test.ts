import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import WebSocket from "ws";
import { missingBrowser } from "../support/needs.ts";
import { RawCdp, byWire, firstPage } from "./clients.ts";
import { Rig } from "./rig.ts";

describe.skipIf(await missingBrowser())("isolation", () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.place("s");
  });
  afterAll(() => rig.stop());

  test("files of the machine are not there", async () => {
    const page = firstPage(await byWire(rig, "s"));
    const files = ["/etc/passwd", "/etc/shadow", "/root/.bashrc", rig.stateDir, process.cwd()];
    for (const file of files)
      await expect(page.goto(`file://${file}`)).rejects.toThrow("ERR_FILE_NOT_FOUND");
  });

  test("other processes of the machine are not there", async () => {
    const page = firstPage(await byWire(rig, "s"));
    await page.goto("file:///proc/");
    // The listing is a script with a line for each entry.
    const pids = [...(await page.content()).matchAll(/addRow\("(\d+)"/g)].map((row) =>
      Number(row[1]),
    );
    expect(pids.length).toBeGreaterThan(0);
    expect(Math.max(...pids)).toBeLessThan(500);
  });

  test("the browser's environment holds nothing of the pool's", async () => {
    const client = await RawCdp.open(rig, "s");
    const { result } = await client.call("SystemInfo.getInfo");
    expect(JSON.stringify(result)).not.toMatch(/test-host-token|SVC_/);
    const page = firstPage(await byWire(rig, "s"));
    await page.goto("file:///proc/self/environ").catch(() => {});
    expect(await page.content()).not.toMatch(/test-host-token|SVC_/);
  });

  test("Chrome's own sandbox is on", async () => {
    const client = await RawCdp.open(rig, "s");
    const { result } = await client.call("SystemInfo.getInfo");
    expect(result?.commandLine).not.toContain("--no-sandbox");
  });

  /** Speaks Playwright's protocol by hand: what a client could send that its library would not. */
  async function rawWire() {
    const { url, headers } = await rig.socket("ws", "s");
    const socket = new WebSocket(url, { headers });
    await new Promise((resolve) => socket.once("open", resolve));
    const heard: {
      id?: number;
      guid?: string;
      method?: string;
      params?: object;
      error?: unknown;
    }[] = [];
    socket.on("message", (data: Buffer) => void heard.push(JSON.parse(data.toString())));
    const call = async (guid: string, method: string, params: object): Promise<string> => {
      const id = heard.length + 1_000;
      socket.send(JSON.stringify({ id, guid, method, params, metadata: {} }));
      await expect.poll(() => heard.some((message) => message.id === id)).toBe(true);
      return JSON.stringify(heard.find((message) => message.id === id));
    };
    await call("", "initialize", { sdkLanguage: "javascript" });
    const guidOf = (type: string): string | undefined => {
      const params = heard.map((message) => JSON.stringify(message.params ?? {}));
      const found = params.find((text) => text.includes(`"type":"${type}"`));
      return /"guid":"([^"]+)"/.exec(found ?? "")?.[1];
    };
    return { call, guidOf };
  }

  test("a wire client gets no tool that reads or writes files of the pool", async () => {
    const { guidOf } = await rawWire();
    expect(guidOf("Browser")).toBeDefined();
    expect(guidOf("LocalUtils")).toBeUndefined();
  });

  test("a wire client can launch nothing and open no endpoint on the pool", async () => {
    const { call, guidOf } = await rawWire();
    const launch = { executablePath: "/bin/true", args: [], timeout: 5_000 };
    expect(await call(guidOf("BrowserType") ?? "", "launch", launch)).toContain("not allowed");
    expect(await call(guidOf("Electron") ?? "", "launch", launch)).toContain("not allowed");
    const browser = guidOf("Browser") ?? "";
    expect(await call(browser, "startServer", { title: "x" })).toContain("Not allowed");
    expect(await call(browser, "stopServer", {})).toContain("Not allowed");
  });

  test("what a wire client writes by a name that climbs stays where a pool may write", async () => {
    const { call, guidOf } = await rawWire();
    const tracing = guidOf("Tracing") ?? "";
    const climb = await mkdtemp(join(tmpdir(), "climb-"));
    await call(tracing, "tracingStart", { snapshots: true });
    await call(tracing, "tracingStartChunk", { name: `../../../..${climb}/written` });
    await firstPage(await byWire(rig, "s")).goto("data:text/html,<title>traced</title>");
    await call(tracing, "tracingStopChunk", { mode: "archive" });
    expect(await readdir(climb)).toEqual([]);
    await rm(climb, { recursive: true });
    // The pool has survived it.
    expect((await rig.put("s")).status).toBe(201);
  });

  test("a wire client cannot upload a file of the pool by its path", async () => {
    const { call, guidOf } = await rawWire();
    const page = firstPage(await byWire(rig, "s"));
    await page.goto("data:text/html,<input type=file>");
    const params = { selector: "input", localPaths: ["/etc/hostname"], timeout: 5_000 };
    expect(await call(guidOf("Frame") ?? "", "setInputFiles", params)).toContain("not allowed");
  });

  test.runIf(process.getuid?.() === 0)("each slot has a user of its own", async () => {
    const { isolation } = await rig.gateway.beat(() => true);
    expect(isolation).toBe("uid");
    const client = await RawCdp.open(rig, "s");
    const { result } = await client.call("SystemInfo.getProcessInfo");
    const infos = result?.processInfo as { type: string; id: number }[];
    expect(infos.find((info) => info.type === "browser")?.id).toBeLessThan(100);
    const mine = await readFile("/proc/self/status", "utf8");
    expect(mine).toMatch(/^Uid:\t0/m);
  });
});
