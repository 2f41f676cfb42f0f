import { once } from "node:events";
import { type Server, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { ANY_EXIT, type ExitWish } from "@svc/contract/host-protocol/exits.ts";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { exitsOf } from "./exit-rig.ts";
import { Upstream } from "./upstream.ts";

const NEVER = new AbortController().signal;
const REST_MS = 10_000;

/** What an exit is proved by. */
let site: Server;
let upstream: Upstream;
/** Milliseconds that the clock of the process has been put on. */
let ahead = 0;

beforeEach(async () => {
  site = createServer((socket) => socket.on("error", () => {}));
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  upstream = await new Upstream("127.0.0.2").start();
  ahead = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + ahead);
});
afterEach(() => {
  vi.restoreAllMocks();
  upstream.stop();
  site.close();
});

function exits() {
  const { port } = site.address() as AddressInfo;
  return exitsOf({
    SVC_PROXY_RESIDENTIAL_URL: `http://r-{country}-{session}:pw@127.0.0.1:${upstream.port}`,
    SVC_PROXY_CHECK: `127.0.0.1:${port}`,
  });
}
const sticky = (session: string): ExitWish => ({ ...ANY_EXIT, sticky: { session, minutes: 5 } });

describe("an exit that does not answer in time", () => {
  test("is waited for by one create; those after it do without at once", async () => {
    const { exits: all, log } = exits();
    upstream.fault = "mute";
    expect(await all.open("org", ANY_EXIT, NEVER)).toBeNull();
    expect(upstream.asked).toHaveLength(1);
    upstream.fault = null;
    for (const org of ["org", "other"]) expect(await all.open(org, ANY_EXIT, NEVER)).toBeNull();
    expect(upstream.asked).toHaveLength(1);
    expect(log.join("")).toContain("exit_rests");
  });

  test("is tried by one create once its rest is over, and by all when it has worked", async () => {
    const { exits: all } = exits();
    upstream.fault = "mute";
    await all.open("org", ANY_EXIT, NEVER);
    ahead = REST_MS;
    const trying = all.open("org", ANY_EXIT, NEVER);
    expect(await all.open("org", ANY_EXIT, NEVER)).toBeNull();
    expect(await trying).toBeNull();
    expect(upstream.asked).toHaveLength(2);
    upstream.fault = null;
    ahead = 3 * REST_MS;
    expect(await all.open("org", ANY_EXIT, NEVER)).not.toBeNull();
    expect(await all.open("org", ANY_EXIT, NEVER)).not.toBeNull();
  });

  test("that its only create has left is tried by the next one", async () => {
    const { exits: all } = exits();
    upstream.fault = "mute";
    await all.open("org", ANY_EXIT, NEVER);
    ahead = REST_MS;
    const gone = new AbortController();
    const opening = all.open("org", ANY_EXIT, gone.signal);
    await expect.poll(() => upstream.asked.length).toBe(2);
    gone.abort();
    expect(await opening).toBeNull();
    upstream.fault = null;
    expect(await all.open("org", ANY_EXIT, NEVER)).not.toBeNull();
  });

  test("says nothing of other countries, nor of addresses that others keep", async () => {
    const { exits: all } = exits();
    upstream.fault = "mute";
    await all.open("org", sticky("a"), NEVER);
    upstream.fault = null;
    expect(await all.open("org", sticky("a"), NEVER)).toBeNull();
    expect(await all.open("other", sticky("a"), NEVER)).not.toBeNull();
    expect(await all.open("org", { ...ANY_EXIT, country: "de" }, NEVER)).not.toBeNull();
  });
});

test("an exit that fails at once is tried by each create", async () => {
  const { exits: all } = exits();
  upstream.fault = "refusing";
  expect(await all.open("org", ANY_EXIT, NEVER)).toBeNull();
  upstream.fault = null;
  expect(await all.open("org", ANY_EXIT, NEVER)).not.toBeNull();
});
