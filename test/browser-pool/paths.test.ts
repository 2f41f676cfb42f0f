import { resolve } from "node:path";
import { WIRE_VERSIONS } from "@svc/contract/browser/wire-versions.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hiding } from "../../browser-pool/playwright-process/paths.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { byWireOf, firstPage } from "./clients.ts";
import { RawWire } from "./raw-wire.ts";
import { Rig } from "./rig.ts";
import { Site } from "./site.ts";

test("a path of the host is hidden wherever an error quotes it", () => {
  const hide = hiding(["/var/pool (1)", "/srv/app"]);
  const error = {
    message: "ENOENT: no such file or directory, open '/var/pool (1)/files/a.webm'",
    stack: "Error: x\n    at f (/srv/app/node_modules/p/lib.js:3:4)\n    at https://a.test/srv:1:2",
  };
  expect(hide({ id: 1, error: { error }, log: ["copying /srv/app/x, then"] })).toEqual({
    id: 1,
    error: {
      error: {
        message: "ENOENT: no such file or directory, open '<service>'",
        stack: "Error: x\n    at f (<service>:3:4)\n    at https://a.test/srv:1:2",
      },
    },
    log: ["copying <service>, then"],
  });
  const event = { guid: "p", method: "console", params: { text: "/srv/app/x" } };
  expect(hide(event)).toBe(event);
});

describe.skipIf(await missingBrowser())("a client of Playwright", () => {
  let rig: Rig;
  let site: Site;

  beforeAll(async () => {
    site = await new Site().start();
    rig = await Rig.start({ env: { SVC_EGRESS_ALLOW: `127.0.0.1:${site.port}` } });
  });
  afterAll(async () => {
    await rig.stop();
    site.stop();
  });

  test.each(WIRE_VERSIONS)("sees no path of the host, in %s", async (version) => {
    await rig.place(version);
    const browser = await byWireOf(version, rig, version);
    const wire = await RawWire.open(rig, version, version);
    const page = firstPage(browser);
    await page.goto(`${site.url}/files`);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#d")]);
    await download.path().catch(() => null);
    const frame = wire.guidOf("Frame") ?? "";
    const browserGuid = wire.guidOf("Browser") ?? "";
    const said = [
      await wire.call(frame, "goto", { url: "nowhere", timeout: 1_000 }),
      await wire.call(frame, "setInputFiles", {
        selector: "#f",
        localPaths: ["/nowhere/x"],
        timeout: 1_000,
      }),
      await wire.call(frame, "evaluateExpression", { expression: "throw new Error('x')", arg: {} }),
      await wire.call(frame, "nothing", {}),
      await wire.call(browserGuid, "startServer", { title: "x" }),
      wire.heardOf("Artifact"),
    ];
    for (const text of said) {
      expect(text).not.toContain(resolve("."));
      expect(text).not.toContain(rig.stateDir);
      expect(text).not.toContain("node_modules");
    }
    expect(said[0]).toContain("error");
    expect(said.at(-1)).toContain("absolutePath");
    wire.socket.terminate();
    await browser.close();
  });
});
