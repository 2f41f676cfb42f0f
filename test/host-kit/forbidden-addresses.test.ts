import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { isIP } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Allowance } from "../../browser-pool/egress/allowance.ts";
import { Forwarder } from "../../browser-pool/egress/forwarder.ts";
import { firstLine } from "../browser-pool/socks-client.ts";
import {
  FORBIDDEN_IPV4,
  FORBIDDEN_IPV6,
  isForbiddenAddress,
} from "../../host-kit/egress/forbidden.ts";
import { ownAddressesV6, ownRoutes } from "../../host-kit/egress/own-addresses.ts";
import { rulesOf } from "../../vm-host/network/rules.ts";

const RULES = rulesOf(
  "svc_test",
  { firstUid: 30_000, lastUid: 30_099 },
  ["10.0.0.53"],
  [{ address: "10.0.0.7", port: 8080 }],
);
/** The ranges that the rules refuse, as they stand in the text. */
const REFUSED_BY_RULES = /ip daddr \{ ([^}]+) \} jump refuse/.exec(RULES)?.[1]?.split(", ") ?? [];

/** An address as a number; its own arithmetic, so that the table is not judged by itself. */
function numberOf(address: string): bigint {
  if (isIP(address) === 4)
    return address.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
  const [front = "", back] = address.split("::");
  const groups = (text: string) => (text ? text.split(":") : []);
  const middle = back === undefined ? 0 : 8 - groups(front).length - groups(back).length;
  const all = [...groups(front), ...Array<string>(middle).fill("0"), ...groups(back ?? "")];
  return all.reduce((sum, part) => sum * 65_536n + BigInt(`0x${part}`), 0n);
}

function textOf(number: bigint, bits: 32 | 128): string {
  const [parts, width, base] = bits === 32 ? [4, 8n, 10] : [8, 16n, 16];
  const digits = Array.from({ length: parts }, (_, at) =>
    ((number >> (width * BigInt(parts - 1 - at))) & ((1n << width) - 1n)).toString(base),
  );
  return digits.join(bits === 32 ? "." : ":");
}

/** First and last address of a range, and their neighbours outside. */
function edgesOf(range: string) {
  const [network = "", length] = range.split("/");
  const bits = isIP(network) === 4 ? 32 : 128;
  const first = numberOf(network);
  const last = first + (1n << BigInt(bits - Number(length))) - 1n;
  const outside = [first - 1n, last + 1n].filter((at) => at >= 0n && at < 1n << BigInt(bits));
  return {
    inside: [first, last].map((at) => textOf(at, bits)),
    outside: outside.map((at) => textOf(at, bits)),
  };
}

function isIn(ranges: readonly string[], address: string): boolean {
  const at = numberOf(address);
  return ranges.some((range) => {
    const [network = "", length] = range.split("/");
    if (isIP(network) !== isIP(address)) return false;
    const shift = BigInt((isIP(network) === 4 ? 32 : 128) - Number(length));
    return at >> shift === numberOf(network) >> shift;
  });
}

const V4 = FORBIDDEN_IPV4.map(({ range }) => range);
const V6 = FORBIDDEN_IPV6.map(({ range }) => range);

const NOT_ALLOWED = "HTTP/1.1 403 Forbidden";

let folder: string;
let forwarder: Forwarder;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "forbidden-"));
  forwarder = new Forwarder(await Allowance.of([]));
  await forwarder.listen(join(folder, "s"));
  forwarder.open();
});
afterAll(async () => {
  forwarder.close();
  await rm(folder, { recursive: true });
});

/** What a browser's forwarder answers to a connection to this address. */
function connect(address: string): Promise<string> {
  return firstLine(join(folder, "s"), address, 443);
}

describe("the forbidden ranges", () => {
  test.each([...V4, ...V6])("the edges of %s are refused by the forwarder", async (range) => {
    for (const address of edgesOf(range).inside)
      expect([address, await connect(address)]).toEqual([address, NOT_ALLOWED]);
  });

  test.each(V4)("the edges of %s are refused by the rules of machines", (range) => {
    for (const address of edgesOf(range).inside)
      expect([address, isIn(REFUSED_BY_RULES, address)]).toEqual([address, true]);
  });

  test.each([...V4, ...V6])("outside the edges of %s only another row forbids", (range) => {
    for (const address of edgesOf(range).outside)
      expect([address, isForbiddenAddress(address)]).toEqual([
        address,
        isIn([...V4, ...V6], address),
      ]);
  });

  test.each(V4)("outside the edges of %s both give the same verdict", (range) => {
    for (const address of edgesOf(range).outside)
      expect([address, isForbiddenAddress(address)]).toEqual([
        address,
        isIn(REFUSED_BY_RULES, address),
      ]);
  });

  test("every row has a source and a reason, and stands once", () => {
    const rows = [...FORBIDDEN_IPV4, ...FORBIDDEN_IPV6];
    for (const { reason, source } of rows) expect([reason, source]).not.toContain("");
    expect(new Set(rows.map(({ range }) => range)).size).toBe(rows.length);
  });

  test.each(["1.1.1.1", "8.8.8.8", "2606:4700:4700::1111", "2a00:1450::1", "2001:200::1"])(
    "%s is public",
    (address) => expect(isForbiddenAddress(address)).toBe(false),
  );

  test.each([
    "fe80::1%eth0",
    "2002:7f00:1::",
    "::ffff:8.8.8.8",
    "::ffff:0:7f00:1",
    "",
    "no-address",
  ])("%s is forbidden", (address) => expect(isForbiddenAddress(address)).toBe(true));
});

describe("the rules of machines", () => {
  const lines = (RULES.split("chain machines {")[1] ?? "").split("\n").map((line) => line.trim());

  test("all IPv6 is refused: machines have none", () => {
    const before = lines.slice(0, lines.indexOf("meta nfproto ipv6 jump refuse"));
    expect(before).not.toHaveLength(lines.length - 1);
    // What is accepted before it is IPv4.
    for (const line of before.filter(Boolean)) expect(line).toMatch(/^ip daddr [\d.]+ .*accept$/);
  });

  test("addresses of the host itself are refused, public ones too", () => {
    expect(lines).toContain("fib daddr type { local, broadcast, multicast } jump refuse");
  });

  const hasNft = process.getuid?.() === 0 && spawnSync("nft", ["--version"]).status === 0;
  test.skipIf(!hasNft)("nft takes them", () => {
    const { status, stderr } = spawnSync("nft", ["-c", "-f", "-"], {
      input: RULES,
      encoding: "utf8",
    });
    // A container may have no packet filter: what nft says then is not about the text.
    expect(`${status} ${stderr}`).toMatch(/^0 |Operation not (permitted|supported)/);
  });
});

describe("addresses of the host itself", () => {
  const own = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);

  test("each is forbidden", () => {
    for (const { address } of own)
      expect([address, isForbiddenAddress(address)]).toEqual([address, true]);
  });

  test("the kernel's routes tell addresses of idle interfaces and broadcasts", () => {
    const text = `Main:
  +-- 198.18.0.0/15 2 0 2
     |-- 8.8.4.0
        /24 link UNICAST
     |-- 8.8.4.1
        /32 host LOCAL
     |-- 127.0.0.0
        /8 host LOCAL
        /32 link BROADCAST
     |-- 8.8.4.255
        /32 link BROADCAST
`;
    expect(ownRoutes(text)).toEqual([
      ["8.8.4.1", 32],
      ["127.0.0.0", 8],
      ["127.0.0.0", 32],
      ["8.8.4.255", 32],
    ]);
    expect(ownRoutes("")).toEqual([]);
  });

  test("IPv6 addresses are read from the kernel's list", () => {
    const text = "20010db8000000000000000000000002 04 40 00 82     eth0\n";
    expect(ownAddressesV6(text)).toEqual(["2001:0db8:0000:0000:0000:0000:0000:0002"]);
    expect(ownAddressesV6("")).toEqual([]);
  });
});
