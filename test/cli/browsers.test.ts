// `svc browser` on a real gateway with a real pool.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Cdp } from "@svc/sdk/cdp.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PATIENT, type TestGateway, testGateway } from "../support/process/gateway.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { PoolProcess } from "../support/process/pool.ts";
import { Svc } from "./svc.ts";

describe.skipIf(await missingBrowser())("browsers", () => {
  let gateway: TestGateway;
  let pool: PoolProcess;
  let svc: Svc;
  beforeAll(async () => {
    gateway = await testGateway(PATIENT);
    pool = await PoolProcess.start(gateway, {});
    svc = new Svc({ SVC_BASE_URL: gateway.url.origin, SVC_API_KEY: await gateway.newKey() });
  });
  afterAll(async () => {
    await pool?.close();
    await gateway?.close();
  });

  test("a session is created, driven, watched, closed, and its replay kept in a file", async () => {
    const wanted = ["--record", "--lease", "10m"];
    const { id, cdpEndpoint } = (await svc.json(["browser", "create", ...wanted])) as {
      id: string;
      cdpEndpoint: string;
    };
    const cdp = await Cdp.connect(cdpEndpoint);
    const page = await cdp.newPage();
    await page.send("Page.enable");
    const loaded = page.once("Page.loadEventFired");
    await page.send("Page.navigate", { url: "data:text/html,<h1>seen</h1>" });
    await loaded;
    const listed = (await svc.run(["browser", "ls", "--status", "active"])).stdout;
    expect(listed).toMatch(new RegExp(`${id} +fast +active`));
    const live = (await svc.run(["browser", "live", id])).stdout;
    expect(live).toMatch(/^ws:\/\/\S+\/ws\/observe\/obs_\S+\n$/);
    expect(live).not.toContain(id);
    cdp.close();
    expect((await svc.run(["browser", "close", id])).stdout).toBe(`${id}\n`);
    const file = join(svc.config, "replay.jsonl");
    expect(await svc.json(["browser", "replay", id, "-o", file])).toMatchObject({ file });
    const events = (await readFile(file, "utf8")).trim().split("\n");
    expect(events.map((line) => typeof JSON.parse(line))).toContain("object");
    expect((await svc.run(["browser", "replay", id])).stdout).toMatch(/^http\S+\/replay\/\S+\n$/);
    const { stdout } = await svc.run(["browser", "get", id]);
    expect(stdout).toMatch(/^status +released$/m);
  });

  test("a profile is named as people name it, and one that is not there is said to be none", async () => {
    const profile = (await svc.run(["profile", "create", "shop"])).stdout.trim();
    const made = await svc.run(["browser", "create", "--profile", "shop", "--lease", "10m"]);
    expect(made).toMatchObject({ code: 0, stderr: "" });
    const [, id = ""] = /^id +(\S+)$/m.exec(made.stdout) ?? [];
    expect((await svc.run(["browser", "close", id])).code).toBe(0);
    const { code, stderr } = await svc.run(["browser", "create", "--profile", "nobody"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("svc profile ls")]);
    expect((await svc.run(["profile", "rm", profile])).code).toBe(0);
  });

  test("a rule that is broken is the service's refusal, in one line", async () => {
    const { code, stderr } = await svc.run(["browser", "create", "--proxy", "us"]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^svc: [^\n]*stealth[^\n]*\n$/)]);
  });
});
