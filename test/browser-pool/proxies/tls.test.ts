import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { ANY_EXIT } from "@svc/contract/host-protocol/exits.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Authority, type Identity } from "../../support/process/certificates.ts";
import { exitsOf } from "./exit-rig.ts";
import { Upstream } from "./upstream.ts";

const NEVER = new AbortController().signal;
const HOME = ["DNS:localhost", "IP:127.0.0.1"];

let authority: Authority;
let stranger: Authority;
const target = createServer((socket) => socket.resume().on("error", () => {}));
beforeAll(async () => {
  [authority, stranger] = await Promise.all([Authority.create(), Authority.create()]);
  // What NODE_EXTRA_CA_CERTS does for a process that starts with it.
  const own = await readFile(authority.path, "utf8");
  setDefaultCACertificates([...getCACertificates(), own]);
  target.listen(0, "127.0.0.1");
  await once(target, "listening");
});
afterAll(async () => {
  target.close();
  await Promise.all([authority.forget(), stranger.forget()]);
});

/** What comes of a session that wishes an exit of this provider: whether it has one, and the pool's log. */
async function tried(identity: Identity, host = "localhost") {
  const upstream = await new Upstream("127.0.0.2", "pw", identity).start();
  onTestFinished(() => upstream.stop());
  return { ...(await triedAt(host, upstream.port)), upstream };
}

async function triedAt(host: string, port: number) {
  const { exits, log } = exitsOf({
    SVC_PROXY_MOBILE_URL: `https://m-{country}:pw@${host}:${port}`,
    SVC_PROXY_CHECK: `check.test:${(target.address() as AddressInfo).port}`,
  });
  const exit = await exits.open("org", ANY_EXIT, NEVER);
  return { isApplied: exit !== null, log: log.join("") };
}

/** The port of something that is no TLS. */
async function plain(isSilent: boolean, heard: Buffer[]): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => {}).on("data", (bytes: Buffer) => void heard.push(bytes));
    if (!isSilent) socket.end("HTTP/1.1 400 What\r\n\r\n");
  });
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test.each(["localhost", "127.0.0.1"])(
  "a proxy over TLS at %s that proves who it is gets credentials and targets",
  async (host) => {
    const { isApplied, upstream, log } = await tried(await authority.identity(HOME), host);
    expect([isApplied, log]).toEqual([true, ""]);
    expect(upstream.asked).toMatchObject([{ name: "m-us" }]);
    await expect.poll(() => upstream.open).toBe(0);
  },
);

const IMPOSTORS: [string, () => Promise<Identity>, string][] = [
  ["by an authority that nobody knows", () => stranger.identity(HOME), "UNABLE_TO_VERIFY_LEAF"],
  ["that is over", () => authority.identity(HOME, -1), "CERT_HAS_EXPIRED"],
  ["of another host", () => authority.identity(["DNS:other.test"]), "ERR_TLS_CERT_ALTNAME_INVALID"],
];

test.each(IMPOSTORS)(
  "a proxy with a certificate %s hears no credentials, and the log says why",
  async (_, identity, code) => {
    const { isApplied, upstream, log } = await tried(await identity());
    expect(isApplied).toBe(false);
    expect(log).toContain(`its certificate is not accepted (${code}`);
    expect(log).not.toContain("pw@");
    expect(upstream.asked).toEqual([]);
    await expect.poll(() => upstream.open).toBe(0);
  },
);

test("a certificate of the name alone does not do for the address", async () => {
  const { isApplied, log } = await tried(await authority.identity(["DNS:localhost"]), "127.0.0.1");
  expect(isApplied).toBe(false);
  expect(log).toContain("ERR_TLS_CERT_ALTNAME_INVALID");
});

test.each([
  ["is silent", "it does not speak TLS in time"],
  ["answers in plain", "TLS with it fails (ERR_SSL_"],
])("a proxy that speaks no TLS and %s hears no credentials", async (how, reason) => {
  const heard: Buffer[] = [];
  const { isApplied, log } = await triedAt("localhost", await plain(how === "is silent", heard));
  expect(isApplied).toBe(false);
  expect(log).toContain(reason);
  expect(Buffer.concat(heard).toString("latin1")).not.toContain("CONNECT");
});
