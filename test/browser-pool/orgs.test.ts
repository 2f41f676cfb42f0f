import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { byWire, firstPage } from "./clients.ts";
import { below } from "./processes.ts";
import { RawWire } from "./raw-wire.ts";
import { Rig } from "./rig.ts";

const MIB = 1024 * 1024;
const BULK = Buffer.alloc(20 * MIB, "x");

describe.skipIf(await missingBrowser())("Playwrights of two orgs on one pool", () => {
  let rig: Rig;
  let site: Server;
  let url: string;

  beforeAll(async () => {
    site = createServer((_request, response) => response.end(BULK)).listen(0, "127.0.0.1");
    await once(site, "listening");
    url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    const env = { SVC_WARM_FAST: "3", SVC_EGRESS_ALLOW: new URL(url).host };
    rig = await Rig.start({ env });
  });
  afterAll(async () => {
    await rig.stop();
    site.closeAllConnections();
    site.close();
  });

  /** The pids of all Playwrights. */
  const pids = (): number[] =>
    below(rig.child.pid ?? 0)
      .filter(({ command }) => /^\S*\/node .*playwright-process.main\.ts/.test(command))
      .map(({ pid }) => pid);

  /** The end of a client's socket. */
  const endOf = ({ socket }: RawWire): Promise<{ code: number; reason: string }> =>
    new Promise((resolve) => {
      socket.once("close", (code, reason) => resolve({ code, reason: String(reason) }));
    });

  test("a pattern without an end stops the clients of its own org, until that Playwright is ended", async () => {
    for (const id of ["a1@org_a", "a2@org_a", "b1@org_b"]) await rig.place(id);
    // Clients come one after the other: on a busy machine each takes much of the time that a client has.
    const attacker = await byWire(rig, "a1@org_a");
    const same = await RawWire.open(rig, "a2@org_a", "1.65");
    const other = await byWire(rig, "b1@org_b");
    const ended = endOf(same);
    const page = firstPage(attacker);
    await page.route(/(a+)+$/, (route) => route.continue());
    const stuck = page.goto(`${url}/${"a".repeat(40)}!`).catch((error: unknown) => error);
    const gone = new Promise((resolve) => attacker.once("disconnected", resolve));
    let isOver = false;
    void gone.then(() => (isOver = true));
    let answered = 0;
    while (!isOver && answered < 200) {
      expect(await firstPage(other).evaluate("1 + 1")).toBe(2);
      answered += 1;
    }
    expect(isOver).toBe(false);
    await Promise.all([gone, stuck]);
    const { code, reason } = await ended;
    expect(code).toBe(CLOSE_CODES.restart);
    expect(reason).toBe("Playwright was silent for 30 s and was ended. Reconnect.");
    expect(rig.stderr).toContain("Playwright was silent for 30 s");
    // The sessions live on, and have a Playwright again.
    expect(await firstPage(await byWire(rig, "a2@org_a")).evaluate("1 + 1")).toBe(2);
    expect(await firstPage(other).evaluate("2 + 2")).toBe(4);
    for (const id of ["a1@org_a", "a2@org_a", "b1@org_b"]) await rig.delete(id);
  });

  test.skipIf(process.getuid?.() !== 0)(
    "one that outgrows its memory takes its own org's sockets, which are told why",
    async () => {
      for (const id of ["a3@org_a", "a4@org_a", "b2@org_b"]) await rig.place(id);
      const attacker = await byWire(rig, "a3@org_a");
      const same = await RawWire.open(rig, "a4@org_a", "1.65");
      const other = await byWire(rig, "b2@org_b");
      const ended = endOf(same);
      const { request } = firstPage(attacker);
      const fill = async (): Promise<void> => {
        for (;;) await request.get(url);
      };
      await expect(fill()).rejects.toThrow("Playwright used more than");
      const { code, reason } = await ended;
      expect(code).toBe(CLOSE_CODES.restart);
      expect(reason).toMatch(
        /^Playwright used more than \d+ MiB of memory and was ended\. Reconnect\.$/,
      );
      expect(rig.stderr).toMatch(/"slots":2,"reason":"Playwright used more than/);
      expect(await firstPage(other).evaluate("1 + 1")).toBe(2);
      expect(await firstPage(await byWire(rig, "a3@org_a")).evaluate("1 + 1")).toBe(2);
      for (const id of ["a3@org_a", "a4@org_a", "b2@org_b"]) await rig.delete(id);
    },
    300_000,
  );

  test("the process of an org whose sessions have ended goes, and one stays warm", async () => {
    await expect.poll(pids).toHaveLength(1);
    // The warm one, which the org gets.
    const [own] = pids();
    await rig.place("c1@org_c");
    await (await byWire(rig, "c1@org_c")).close();
    await expect.poll(pids).toHaveLength(2);
    await rig.delete("c1@org_c");
    await expect.poll(pids).toHaveLength(1);
    expect(pids()).not.toContain(own);
  });
});
