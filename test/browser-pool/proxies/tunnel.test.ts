import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { LIMITS } from "@svc/contract/limits.ts";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
} from "vitest";
import { Allowance } from "../../../browser-pool/egress/allowance.ts";
import { Forwarder } from "../../../browser-pool/egress/forwarder.ts";
import type { Exit } from "../../../browser-pool/proxies/exits.ts";
import { Authority, type Identity } from "../../support/process/certificates.ts";
import { askSocks } from "../socks-client.ts";
import { ANY_EXIT } from "@svc/contract/host-protocol/exits.ts";
import { exitsOf } from "./exit-rig.ts";
import { type Fault, Upstream } from "./upstream.ts";

const NEVER = new AbortController().signal;
/** What a client of the forwarder is told of a target that is not reached. */
const FAILED = 1;

/** Answers who asks, by the address that it sees. */
const site = createServer((request, response) => response.end(request.socket.remoteAddress));
let folder: string;
let identity: Identity;
beforeAll(async () => {
  const authority = await Authority.create();
  identity = await authority.identity(["IP:127.0.0.1"]);
  setDefaultCACertificates([...getCACertificates(), await readFile(authority.path, "utf8")]);
  await authority.forget();
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  folder = await mkdtemp(join(tmpdir(), "tunnel-"));
});
afterAll(async () => {
  site.closeAllConnections();
  site.close();
  await rm(folder, { recursive: true });
});
const sitePort = (): number => (site.address() as AddressInfo).port;

const SCHEMES = ["http", "https", "socks5"] as const;

describe.each(SCHEMES)("an exit over %s", (scheme) => {
  let upstream: Upstream;
  let other: Upstream;
  let forwarder: Forwarder;
  const path = (): string => join(folder, scheme);

  beforeEach(async () => {
    const own = scheme === "https" ? identity : null;
    upstream = await new Upstream("127.0.0.2", "pw", own).start();
    other = await new Upstream("127.0.0.3", "pw", own).start();
    forwarder = new Forwarder(await Allowance.of([{ host: "127.0.0.1", port: sitePort() }]));
    await forwarder.listen(path());
    forwarder.open();
  });
  afterEach(() => {
    forwarder.close();
    upstream.stop();
    other.stop();
  });

  const rigFor = (of: Upstream, password = "pw") =>
    exitsOf({
      SVC_PROXY_MOBILE_URL: `${scheme}://m-{country}-{session}:${password}@127.0.0.1:${of.port}`,
      SVC_PROXY_CHECK: `check.test:${sitePort()}`,
    });
  async function exitOf(of: Upstream): Promise<Exit> {
    const exit = await rigFor(of).exits.open("org", ANY_EXIT, NEVER);
    if (!exit) throw new Error("no exit");
    return exit;
  }
  const tunnel = (host = "127.0.0.1") => askSocks(path(), host, sitePort());
  /** The address that the site sees of a connection, which stays open. */
  async function addressBy(socket: Socket): Promise<string> {
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    socket.resume();
    const [bytes]: unknown[] = await once(socket, "data");
    return String(bytes).split("\r\n\r\n")[1] ?? "";
  }
  async function seenBy(): Promise<string> {
    const { reply, socket } = await tunnel();
    if (reply !== 0) return `reply ${reply}`;
    const address = await addressBy(socket);
    socket.destroy();
    return address;
  }

  test("leads every connection through its proxy, with its credentials", async () => {
    expect(await seenBy()).toBe("127.0.0.1");
    forwarder.leaveBy(await exitOf(upstream));
    expect(await seenBy()).toBe("127.0.0.2");
    const target = `127.0.0.1:${sitePort()}`;
    expect(upstream.asked.at(-1)).toEqual({ name: expect.stringMatching(/^m-us-\w+$/), target });
  });

  test("has the proxy look names up", async () => {
    forwarder.leaveBy(await exitOf(upstream));
    const { reply } = await tunnel("localhost");
    expect(reply).toBe(0);
    expect(upstream.asked.at(-1)?.target).toBe(`localhost:${sitePort()}`);
  });

  test("is never asked for a private address, a mail port or a host that is not allowed", async () => {
    forwarder.leaveBy(await exitOf(upstream));
    const count = upstream.asked.length;
    for (const [host, port] of [
      ["10.0.0.1", 80],
      ["169.254.169.254", 80],
      ["[::1]", 80],
      ["::ffff:127.0.0.1", 80],
      ["64:ff9b::7f00:1", 80],
      ["localhost", 1],
      ["0x7f.1", 1],
      ["1.1.1.1", 25],
      ["no such.host\r\nx: y", 80],
    ] as const) {
      const { socket } = await askSocks(path(), host, port);
      socket.destroy();
    }
    forwarder.confine(["good.test"]);
    const { socket } = await tunnel("localhost");
    socket.destroy();
    expect(upstream.asked.length).toBe(count);
  });

  test("is swapped at once: what left by the old one is closed, and nothing more leaves by it", async () => {
    forwarder.leaveBy(await exitOf(upstream));
    const next = await exitOf(other);
    const { socket } = await tunnel();
    expect(await addressBy(socket)).toBe("127.0.0.2");
    const closed = once(socket, "close");
    forwarder.leaveBy(next);
    await closed;
    expect(await seenBy()).toBe("127.0.0.3");
  });

  test("that is swapped ends what is on its way by the old one", async () => {
    forwarder.leaveBy(await exitOf(upstream));
    const next = await exitOf(other);
    upstream.fault = "mute";
    const asking = tunnel();
    await expect.poll(() => upstream.asked.length).toBe(2);
    forwarder.leaveBy(next);
    expect((await asking).reply).toBe(FAILED);
    expect(await seenBy()).toBe("127.0.0.3");
  });

  test("that dies leads nowhere: nothing leaves without it", async () => {
    forwarder.leaveBy(await exitOf(upstream));
    const { socket } = await tunnel();
    expect(await addressBy(socket)).toBe("127.0.0.2");
    const closed = once(socket, "close");
    upstream.stop();
    await closed;
    expect(await seenBy()).toBe(`reply ${FAILED}`);
    expect(forwarder.failures.textFor(null)).toBe("net::ERR_PROXY_CONNECTION_FAILED");
  });

  test("whose tunnel is cut in the middle ends that connection, and serves the next", async () => {
    forwarder.leaveBy(await exitOf(upstream));
    const { socket } = await tunnel();
    expect(await addressBy(socket)).toBe("127.0.0.2");
    const closed = once(socket, "close");
    upstream.cut();
    await closed;
    expect(await seenBy()).toBe("127.0.0.2");
  });

  test("whose target is not there says so", async () => {
    const exit = await exitOf(upstream);
    forwarder.leaveBy(exit);
    upstream.fault = "refusing";
    expect(await seenBy()).toMatch(/^reply [1-6]$/);
    expect(forwarder.failures.textFor(null)).toBe("net::ERR_TUNNEL_CONNECTION_FAILED");
    upstream.fault = null;
    expect(await seenBy()).toBe("127.0.0.2");
  });

  test("with wrong credentials is not applied, and the log says why without them", async () => {
    const { exits, log } = rigFor(upstream, "wrong");
    expect(await exits.open("org", ANY_EXIT, NEVER)).toBeNull();
    expect(log.join("")).toContain("refuses the credentials");
    expect(log.join("")).not.toContain("wrong");
  });

  test.each<[Fault, RegExp]>([
    ["garbage", /does not speak|ends in the middle/],
    ["refusing", /it answers/],
    ["ending", /ends in the middle/],
    ["mute", /in time/],
    ["half", /in time/],
  ])("that is %s at a create is not applied, in the time that it has", async (fault, why) => {
    upstream.fault = fault;
    const { exits, log } = rigFor(upstream);
    const begun = performance.now();
    expect(await exits.open("org", ANY_EXIT, NEVER)).toBeNull();
    expect(performance.now() - begun).toBeLessThan(LIMITS.exitCheckMs + LIMITS.hostAnswerMs);
    expect(log.join("")).toMatch(why);
  });

  test("that is not there is not applied", async () => {
    const { exits, log } = rigFor(upstream);
    upstream.stop();
    expect(await exits.open("org", ANY_EXIT, NEVER)).toBeNull();
    expect(log.join("")).toContain("ECONNREFUSED");
  });

  test("that nobody wants any more is given up at once", async () => {
    upstream.fault = "mute";
    const gone = new AbortController();
    const opening = rigFor(upstream).exits.open("org", ANY_EXIT, gone.signal);
    await expect.poll(() => upstream.asked.length).toBe(1);
    gone.abort();
    expect(await opening).toBeNull();
  });

  test("keeps its address for the minutes of a name, which no other org shares", async () => {
    const { exits } = rigFor(upstream);
    const nameOf = async (org: string, session: string | null): Promise<string | undefined> => {
      const sticky = session === null ? null : { session, minutes: 1 };
      await exits.open(org, { ...ANY_EXIT, sticky }, NEVER);
      return upstream.asked.at(-1)?.name;
    };
    const first = await nameOf("org", "a");
    expect(await nameOf("org", "a")).toBe(first);
    const others = [
      await nameOf("org", "b"),
      await nameOf("org2", "a"),
      await nameOf("org", null),
      await nameOf("org", null),
    ];
    expect(new Set([first, ...others]).size).toBe(5);
  });

  test("leaves under another name once the minutes of its name are over", async () => {
    const { exits } = rigFor(upstream);
    const sticky = { session: "a", minutes: 0.001 };
    const exit = await exits.open("org", { ...ANY_EXIT, sticky }, NEVER);
    forwarder.leaveBy(exit);
    const first = upstream.asked.at(-1)?.name;
    const nameNow = async (): Promise<string | undefined> => {
      await seenBy();
      return upstream.asked.at(-1)?.name;
    };
    await expect.poll(nameNow).not.toBe(first);
  });
});

test("a password longer than SOCKS 5 takes, and a name that nobody knows, are faults with a reason", async () => {
  const upstream = await new Upstream("127.0.0.2").start();
  onTestFinished(() => upstream.stop());
  for (const [url, why] of [
    [`socks5://x:${"p".repeat(256)}@127.0.0.1:${upstream.port}`, "longer than SOCKS 5"],
    [`http://{country}:pw@no-such-name.invalid:1`, "name is not known"],
  ] as const) {
    const { exits, log } = exitsOf({ SVC_PROXY_STATIC_URL: url, SVC_PROXY_STATIC_COUNTRIES: "de" });
    expect(await exits.open("org", ANY_EXIT, NEVER)).toBeNull();
    expect(log.join("")).toContain(why);
  }
});
