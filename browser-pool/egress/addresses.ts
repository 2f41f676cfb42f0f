import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";

// Everything that is not plain public unicast (the special-purpose registries of RFC 6890).
const V4 = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8",
  "100.64.0.0/10", // carrier-grade NAT
  "127.0.0.0/8",
  "169.254.0.0/16", // link-local, and the metadata address of clouds
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
];
const V6 = [
  "::/96", // unspecified, loopback, IPv4-compatible
  "::ffff:0:0/96", // IPv4-mapped
  "64:ff9b::/96", // NAT64
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/23", // Teredo and other protocol assignments
  "2001:db8::/32",
  "2002::/16", // 6to4, which carries an IPv4 address
  "3fff::/20",
  "5f00::/16",
  "fc00::/7", // unique local
  "fe80::/10", // link-local
  "fec0::/10",
  "ff00::/8", // multicast
];

function listOf(ranges: string[], family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", bits] = range.split("/");
    list.addSubnet(network, Number(bits), family);
  }
  return list;
}

// Two lists: in one, the range of IPv4-mapped addresses would match every IPv4 address.
const refusedV4 = listOf(V4, "ipv4");
const refusedV6 = listOf(V6, "ipv6");

/** Whether an IP address is one that a customer's browser must not reach from this machine. */
export function isRefusedAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return true;
  const isRefused =
    family === 6 ? refusedV6.check(address, "ipv6") : refusedV4.check(address, "ipv4");
  return isRefused || isOwnAddress(address);
}

// A public address of this machine leads to what listens here as surely as loopback does.
function isOwnAddress(address: string): boolean {
  const interfaces = Object.values(networkInterfaces());
  return interfaces.some((entries) => entries?.some((entry) => entry.address === address));
}
