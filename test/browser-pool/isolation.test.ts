import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WIRE_VERSIONS } from "@svc/contract/browser/wire-versions.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { RawCdp, byWire, firstPage } from "./clients.ts";
import { below } from "./processes.ts";
import { RawWire } from "./raw-wire.ts";
import { Rig } from "./rig.ts";

describe.skipIf(await missingBrowser())("isolation", () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.place("s");
  });
  afterAll(() => rig.stop());

  // A navigation that fails shows its error page a moment later, which interrupts the next one: each has a page of its own.
  const newPage = async () =>
    firstPage(await byWire(rig, "s"))
      .context()
      .newPage();

  test("files of the machine are not there", async () => {
    const files = ["/etc/passwd", "/etc/shadow", "/root/.bashrc", rig.stateDir, process.cwd()];
    for (const file of files) {
      const page = await newPage();
      await expect(page.goto(`file://${file}`)).rejects.toThrow("ERR_FILE_NOT_FOUND");
      await page.close();
    }
  });

  test("other processes of the machine are not there", async () => {
    const page = await newPage();
    await page.goto("file:///proc/");
    // The listing is a script with a line for each entry.
    const pids = [...(await page.content()).matchAll(/addRow\("(\d+)"/g)].map((row) =>
      Number(row[1]),
    );
    // Those of two browsers and their Playwrights at most; of the machine there are these and more, the pool first.
    const own = below(rig.child.pid ?? 0).map(({ pid }) => pid);
    expect(pids.length).toBeGreaterThan(0);
    expect(pids.length).toBeLessThan(own.length);
    const client = await RawCdp.open(rig, "s");
    const { result } = await client.call("SystemInfo.getProcessInfo");
    const infos = result?.processInfo as { type: string; id: number }[];
    expect(pids).toContain(infos.find((info) => info.type === "browser")?.id);
  });

  test("the browser's environment holds nothing of the pool's", async () => {
    const client = await RawCdp.open(rig, "s");
    const { result } = await client.call("SystemInfo.getInfo");
    expect(JSON.stringify(result)).not.toMatch(/test-host-token|SVC_/);
    const page = await newPage();
    await page.goto("file:///proc/self/environ").catch(() => {});
    expect(await page.content()).not.toMatch(/test-host-token|SVC_/);
  });

  test("Chrome's own sandbox is on", async () => {
    const client = await RawCdp.open(rig, "s");
    const { result } = await client.call("SystemInfo.getInfo");
    expect(result?.commandLine).not.toContain("--no-sandbox");
  });

  describe.each(WIRE_VERSIONS)("a wire client of %s", (version) => {
    test("gets no tool that reads or writes files of the pool", async () => {
      const wire = await RawWire.open(rig, "s", version);
      expect(wire.guidOf("Browser")).toBeDefined();
      expect(wire.guidOf("LocalUtils")).toBeUndefined();
    });

    test("can launch nothing and open no endpoint on the pool", async () => {
      const wire = await RawWire.open(rig, "s", version);
      const launch = { executablePath: "/bin/true", args: [], timeout: 60_000 };
      expect(await wire.call(wire.guidOf("BrowserType") ?? "", "launch", launch)).toContain(
        "not allowed",
      );
      expect(await wire.call(wire.guidOf("Electron") ?? "", "launch", launch)).toContain(
        "not allowed",
      );
      const browser = wire.guidOf("Browser") ?? "";
      expect(await wire.call(browser, "startServer", { title: "x" })).toContain("Not allowed");
      expect(await wire.call(browser, "stopServer", {})).toContain("Not allowed");
    });

    test("what it writes by a name that climbs stays where a pool may write", async () => {
      const wire = await RawWire.open(rig, "s", version);
      const tracing = wire.guidOf("Tracing") ?? "";
      const climb = await mkdtemp(join(tmpdir(), "climb-"));
      await wire.call(tracing, "tracingStart", { snapshots: true });
      await wire.call(tracing, "tracingStartChunk", { name: `../../../..${climb}/written` });
      await firstPage(await byWire(rig, "s")).goto("data:text/html,<title>traced</title>");
      await wire.call(tracing, "tracingStopChunk", { mode: "archive" });
      expect(await readdir(climb)).toEqual([]);
      await rm(climb, { recursive: true });
      // The pool has survived it.
      expect((await rig.put("s")).status).toBe(201);
    });

    test("cannot upload a file of the pool by its path", async () => {
      const wire = await RawWire.open(rig, "s", version);
      const page = firstPage(await byWire(rig, "s"));
      await page.goto("data:text/html,<input type=file>");
      const params = { selector: "input", localPaths: ["/etc/hostname"], timeout: 60_000 };
      expect(await wire.call(wire.guidOf("Frame") ?? "", "setInputFiles", params)).toContain(
        "not allowed",
      );
    });
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
