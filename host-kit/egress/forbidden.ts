import { BlockList, isIP } from "node:net";
import { isOwnAddress } from "./own-addresses.ts";

/** A range that neither browsers nor machines may reach from a host. */
export interface ForbiddenRange {
  range: string;
  reason: string;
  source: string;
}

/** IPv4: everything that is not plain public unicast (IANA IPv4 Special-Purpose Address Registry, RFC 6890). */
export const FORBIDDEN_IPV4: readonly ForbiddenRange[] = [
  { range: "0.0.0.0/8", reason: "this network; 0.0.0.0 leads to loopback", source: "RFC 1122" },
  { range: "10.0.0.0/8", reason: "private networks", source: "RFC 1918" },
  { range: "100.64.0.0/10", reason: "carrier-grade NAT", source: "RFC 6598" },
  { range: "127.0.0.0/8", reason: "loopback", source: "RFC 1122" },
  { range: "169.254.0.0/16", reason: "link-local, metadata of clouds", source: "RFC 3927" },
  { range: "172.16.0.0/12", reason: "private networks", source: "RFC 1918" },
  { range: "192.0.0.0/24", reason: "protocol assignments", source: "RFC 6890" },
  { range: "192.0.2.0/24", reason: "documentation", source: "RFC 5737" },
  { range: "192.88.99.0/24", reason: "relays of 6to4", source: "RFC 7526" },
  { range: "192.168.0.0/16", reason: "private networks", source: "RFC 1918" },
  { range: "198.18.0.0/15", reason: "benchmarks of networks", source: "RFC 2544" },
  { range: "198.51.100.0/24", reason: "documentation", source: "RFC 5737" },
  { range: "203.0.113.0/24", reason: "documentation", source: "RFC 5737" },
  { range: "224.0.0.0/4", reason: "multicast", source: "RFC 5771" },
  { range: "240.0.0.0/4", reason: "reserved, and broadcast", source: "RFC 1112, RFC 919" },
];

/** IPv6: everything outside 2000::/3, the only global unicast block, and what inside it is not plain unicast. */
export const FORBIDDEN_IPV6: readonly ForbiddenRange[] = [
  { range: "::/3", reason: "loopback, IPv4-mapped, NAT64, discard", source: "RFC 4291, RFC 6052" },
  { range: "2001::/23", reason: "Teredo, protocol assignments", source: "RFC 2928, RFC 4380" },
  { range: "2001:db8::/32", reason: "documentation", source: "RFC 3849" },
  { range: "2002::/16", reason: "6to4 carries an IPv4 address", source: "RFC 3056" },
  { range: "3fff::/20", reason: "documentation", source: "RFC 9637" },
  { range: "4000::/2", reason: "not assigned; segment routing", source: "RFC 4291, RFC 9602" },
  { range: "8000::/1", reason: "local unicast, multicast", source: "RFC 4193, RFC 4291" },
];

function listOf(rows: readonly ForbiddenRange[], family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const { range } of rows) {
    const [network = "", bits] = range.split("/");
    list.addSubnet(network, Number(bits), family);
  }
  return list;
}

// Two lists: in one, the range of IPv4-mapped addresses would match every IPv4 address.
const forbiddenV4 = listOf(FORBIDDEN_IPV4, "ipv4");
const forbiddenV6 = listOf(FORBIDDEN_IPV6, "ipv6");

/** Whether customers' code must not reach this address from this host. Text that is no IP address is forbidden. */
export function isForbiddenAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return true;
  const isInTable =
    family === 6 ? forbiddenV6.check(address, "ipv6") : forbiddenV4.check(address, "ipv4");
  return isInTable || isOwnAddress(address);
}
