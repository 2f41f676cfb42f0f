import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { RawCdp, byCdp, byWire, firstPage } from "./clients.ts";
import { describeKinds } from "./kinds.ts";
import { Rig, openOf } from "./rig.ts";
import { Site } from "./site.ts";

const MIB = 1024 * 1024;

describeKinds("traffic", (kind) => {
  let rig: Rig;
  let site: Site;
  let folder: string;
  let count = 0;
  let id: string;

  beforeAll(async () => {
    site = await new Site().start();
    folder = await mkdtemp(join(tmpdir(), "traffic-"));
    rig = await Rig.start({ kind, env: { SVC_EGRESS_ALLOW: `127.0.0.1:${site.port}` } });
  });
  afterAll(async () => {
    await rig.stop();
    site.stop();
    await rm(folder, { recursive: true });
  });
  beforeEach(async () => {
    count += 1;
    id = `s${count}`;
    await rig.place(id);
    return async () => void (await rig.delete(id));
  });

  test("200 popups in a burst are all seen by a wire client and by a CDP client", async () => {
    const wire = await byWire(rig, id);
    const cdp = await byCdp(rig, id);
    const page = firstPage(wire);
    await page.goto(`${site.url}/popups`);
    await page.evaluate("burst(200)");
    const seen = (browser: typeof wire) => browser.contexts()[0]?.pages().length;
    await expect.poll(() => seen(wire), { timeout: 400_000, interval: 200 }).toBe(201);
    await expect.poll(() => seen(cdp), { timeout: 400_000, interval: 200 }).toBe(201);
  }, 900_000);

  test("files are uploaded by a wire client, by path and by content", async () => {
    const page = firstPage(await byWire(rig, id));
    await page.goto(`${site.url}/files`);
    const content = (): Promise<string> =>
      page.evaluate("document.querySelector('#f').files[0].text()");
    const file = join(folder, "up.txt");
    await writeFile(file, "from a file");
    await page.setInputFiles("#f", file);
    expect(await content()).toBe("from a file");
    const buffer = Buffer.from("from memory");
    await page.setInputFiles("#f", { name: "b.txt", mimeType: "text/plain", buffer });
    expect(await content()).toBe("from memory");
  });

  test("a download reaches the wire client with its content", async () => {
    const page = firstPage(await byWire(rig, id));
    await page.goto(`${site.url}/files`);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#d")]);
    const target = join(folder, "down.txt");
    await download.saveAs(target);
    expect(await readFile(target, "utf8")).toBe("what was downloaded");
    expect(download.suggestedFilename()).toBe("f.txt");
  });

  test.each([
    ["/ws", byWire],
    ["/cdp", byCdp],
  ] as const)("a message of 20 MiB passes each way on %s", async (_endpoint, open) => {
    const page = firstPage(await open(rig, id));
    const down = await page.evaluate((bytes) => "y".repeat(bytes), 20 * MIB);
    expect(down.length).toBe(20 * MIB);
    expect(down.endsWith("y")).toBe(true);
    expect(await page.evaluate((text) => text.length, "z".repeat(20 * MIB))).toBe(20 * MIB);
  });

  test("text outside of ASCII passes unchanged on both endpoints", async () => {
    const text = 'ä€𝄞 "\\ \u0000 \u2028 {"id":1,"sessionId":"x"}';
    for (const browser of [await byWire(rig, id), await byCdp(rig, id)])
      expect(await firstPage(browser).evaluate((said) => said, text)).toBe(text);
  });

  test("replies come in the order of their calls to a client that pipelines", async () => {
    const client = await RawCdp.open(rig, id);
    const session = await client.attach();
    const calls = Array.from({ length: 500 }, (_, number) =>
      client.call("Runtime.evaluate", { expression: String(number) }, session),
    );
    const answers = await Promise.all(calls);
    const heard = client.heard.filter((reply) => answers.includes(reply));
    const values = heard.map((reply) => {
      const result = reply.result?.result as { value: number };
      return result.value;
    });
    expect(values).toEqual(Array.from({ length: 500 }, (_, number) => number));
  });

  test("a CDP client that stops reading is cut, and its browser lives on", async () => {
    const client = await RawCdp.open(rig, id);
    const other = await RawCdp.open(rig, id);
    const session = await client.attach();
    await rig.gateway.report(id, (report) => openOf(report) === 2);
    client.socket.pause();
    // 300 MiB of answers, of which the pool may hold 64 and one more.
    for (let sent = 0; sent < 15; sent += 1)
      void client.call("Runtime.evaluate", { expression: `"x".repeat(${20 * MIB})` }, session);
    await rig.gateway.report(id, (report) => openOf(report) === 1);
    expect((await other.call("Browser.getVersion")).result).toBeDefined();
  }, 600_000);
});
