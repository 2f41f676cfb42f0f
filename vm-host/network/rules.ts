import { isIP } from "node:net";
import { readFile } from "node:fs/promises";
import type { Confinement } from "../qemu/confinement.ts";
import { run } from "../programs.ts";

// Everything that is not plain public unicast (the special-purpose registries of RFC 6890).
const REFUSED = [
  ["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"],
  ["172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"],
  ["198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"],
].flat();

/** An address and port that machines may reach although it is private. */
export interface AllowedAddress {
  address: string;
  port: number;
}

/** The machine's resolvers: names are looked up through them, wherever they are. */
export async function resolvers(): Promise<string[]> {
  const text = await readFile("/etc/resolv.conf", "utf8").catch(() => "");
  const found = [...text.matchAll(/^nameserver\s+(\S+)/gm)].map((match) => match[1] ?? "");
  return found.filter((address) => isIP(address) === 4);
}

/**
 * What the packets of machines' users may do: QEMU's own network stack speaks as its process, so a rule for the
 * user holds whatever the guest sends. IPv6 is off in the guest and closed here.
 */
export function rulesOf(
  table: string,
  { firstUid, lastUid }: Confinement,
  resolver: string[],
  allowed: AllowedAddress[],
): string {
  const accepts = [
    ...resolver.map(
      (address) => `ip daddr ${address} meta l4proto { tcp, udp } th dport 53 accept`,
    ),
    ...allowed.map(({ address, port }) => `ip daddr ${address} tcp dport ${port} accept`),
  ];
  return `add table inet ${table}
delete table inet ${table}
table inet ${table} {
  chain refuse {
    meta l4proto tcp reject with tcp reset
    reject
  }
  chain machines {
    ${accepts.join("\n    ")}
    meta nfproto ipv6 jump refuse
    fib daddr type { local, broadcast, multicast } jump refuse
    ip daddr { ${REFUSED.join(", ")} } jump refuse
  }
  chain output {
    type filter hook output priority 0; policy accept;
    meta skuid ${firstUid}-${lastUid} ct state established,related accept
    meta skuid ${firstUid}-${lastUid} jump machines
  }
}
`;
}

/** Puts the rules in place of what this table had. False where this process may not. */
export async function applyRules(rules: string): Promise<boolean> {
  return run("nft", ["-f", "-"], { input: rules }).then(
    () => true,
    () => false,
  );
}

export async function removeRules(table: string): Promise<void> {
  await run("nft", ["delete", "table", "inet", table]).catch(() => null);
}
