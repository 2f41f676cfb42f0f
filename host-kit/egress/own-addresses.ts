import { readFileSync } from "node:fs";
import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";

/** The kernel's IPv4 routes. Unlike `networkInterfaces()` they tell addresses of idle interfaces and broadcast addresses. */
const ROUTES_V4 = "/proc/net/fib_trie";
/** All IPv6 addresses of this host: 32 hex digits begin a line. */
const ADDRESSES_V6 = "/proc/net/if_inet6";

/**
 * Whether an address leads to this host, or to all hosts of one of its networks. A public address of this host
 * leads to what listens here as surely as loopback does. The same as `fib daddr type { local, broadcast }` of nft.
 */
export function isOwnAddress(address: string): boolean {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  const own = new BlockList();
  for (const entry of Object.values(networkInterfaces()).flatMap((entries) => entries ?? []))
    own.addAddress(entry.address, entry.family === "IPv6" ? "ipv6" : "ipv4");
  for (const [network, bits] of ownRoutes(read(ROUTES_V4))) own.addSubnet(network, bits, "ipv4");
  for (const one of ownAddressesV6(read(ADDRESSES_V6))) own.addAddress(one, "ipv6");
  return own.check(address, family);
}

/** The local and broadcast routes in the text of /proc/net/fib_trie, as network and prefix length. */
export function ownRoutes(text: string): [network: string, bits: number][] {
  const leaves = text.matchAll(/\|-- (\S+)\n((?:\s+\/\d+ .*\n?)+)/g);
  return [...leaves].flatMap(([, network = "", lines = ""]) =>
    [...lines.matchAll(/\/(\d+) \S+ (?:LOCAL|BROADCAST)\b/g)].map(([, bits]): [string, number] => [
      network,
      Number(bits),
    ]),
  );
}

/** The addresses in the text of /proc/net/if_inet6. */
export function ownAddressesV6(text: string): string[] {
  const found = text.matchAll(/^[0-9a-f]{32}/gm);
  return [...found].map(([digits]) => (digits.match(/.{4}/g) ?? []).join(":"));
}

/** Nothing where this file is not there: on systems other than Linux. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
