import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { ANY_EXIT } from "@svc/contract/host-protocol/exits.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingBrowser, missingStealth } from "../support/process/needs.ts";
import { byCdp, firstPage } from "./clients.ts";
import { below } from "./processes.ts";
import { Upstream } from "./proxies/upstream.ts";
import { Rig } from "./rig.ts";

const isMissing = Boolean((await missingStealth()) ?? (await missingBrowser()));
const SESSIONS = 20;
/** Files that are open for the first use of something stay open. */
const MORE_DESCRIPTORS = 6;

const site = createServer((_, response) => response.end("<title>there</title>"));

describe.skipIf(isMissing)("sessions with network rules back to back", { timeout: 300_000 }, () => {
  let rig: Rig;
  let upstream: Upstream;

  beforeAll(async () => {
    site.listen(0, "127.0.0.1");
    await once(site, "listening");
    upstream = await new Upstream("127.0.0.2").start();
    const { port } = site.address() as AddressInfo;
    rig = await Rig.start({
      kind: "stealth",
      env: {
        SVC_EGRESS_ALLOW: `127.0.0.1:${port}`,
        SVC_PROXY_RESIDENTIAL_URL: `http://r-{country}:pw@127.0.0.1:${upstream.port}`,
        SVC_PROXY_CHECK: `127.0.0.1:${port}`,
      },
    });
    await rig.warm();
  });
  afterAll(async () => {
    await rig.stop();
    upstream.stop();
    site.closeAllConnections();
    site.close();
  });

  const pid = (): number => rig.child.pid ?? 0;

  /** All that a pool with one warm browser has on the machine. */
  function holdings() {
    const all = below(pid());
    const networks = new Map(
      all.flatMap(({ pid: one }) => linkOf(`/proc/${one}/ns/net`).map((network) => [network, one])),
    );
    return {
      processes: all.length,
      networks: networks.size,
      folders: readdirSync(rig.stateDir, { recursive: true, withFileTypes: true }).filter(
        (entry) => entry.isDirectory() && /^\d+$/.test(entry.name),
      ).length,
      // Of these networks alone: in that of the machine anybody may have a socket for a moment.
      resolvers: [...networks.values()].reduce((sum, one) => sum + resolversBeside(one), 0),
    };
  }
  const descriptors = (): number => readdirSync(`/proc/${pid()}/fd`).length;

  async function session(at: number): Promise<void> {
    const id = `r${at}`;
    const proxy = at % 2 === 0 ? ANY_EXIT : "smart";
    await rig.place(id, { allowedDomains: ["localhost", `n${at}.example`], proxy });
    const browser = await byCdp(rig, id);
    const { port } = site.address() as AddressInfo;
    await firstPage(browser).goto(`http://localhost:${port}`);
    const body = { domains: ["localhost"] };
    await rig.call("POST", `/slots/${id}/allowed-domains`, id, body);
    await browser.close();
    await rig.delete(id);
  }
  const atRest = () =>
    rig.gateway.beat(
      ({ kinds: { stealth } }) =>
        stealth?.idle === 1 && stealth.busy === 0 && stealth.recycling === 0,
      // One that is on its way may still say what was before.
      rig.gateway.beats.length + 1,
    );

  test("leave processes, networks, resolvers and folders as they were", async () => {
    await session(-1);
    await atRest();
    const before = holdings();
    const open = descriptors();
    for (let at = 0; at < SESSIONS; at += 1) await session(at);
    await atRest();
    await expect.poll(holdings).toEqual(before);
    expect(descriptors() - open).toBeLessThanOrEqual(MORE_DESCRIPTORS);
    expect(before.networks).toBeGreaterThan(1);
    expect(before.resolvers).toBeGreaterThan(0);
  });
});

/** How many sockets have the port of names in the network of a process. */
function resolversBeside(pid: number): number {
  try {
    return readFileSync(`/proc/${pid}/net/udp`, "utf8").match(/ 0100007F:0035 /g)?.length ?? 0;
  } catch {
    // The process has ended.
    return 0;
  }
}

function linkOf(path: string): string[] {
  try {
    return [readlinkSync(path)];
  } catch {
    // The process has ended.
    return [];
  }
}
