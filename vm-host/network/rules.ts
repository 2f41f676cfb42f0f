import { isIP } from "node:net";
import { readFile } from "node:fs/promises";
import { FORBIDDEN_IPV4 } from "@svc/host-kit/egress/forbidden.ts";
import { run } from "../programs.ts";

const FORBIDDEN = FORBIDDEN_IPV4.map(({ range }) => range).join(", ");

/** An address and port that machines may reach although it is private. */
export interface AllowedAddress {
  address: string;
  port: number;
}

/** The users that machines run as. */
export interface Users {
  firstUid: number;
  lastUid: number;
}

/** The IPv4 resolvers of this host: machines may ask them, also at private addresses. */
export async function resolvers(): Promise<string[]> {
  const text = await readFile("/etc/resolv.conf", "utf8").catch(() => "");
  const found = [...text.matchAll(/^nameserver\s+(\S+)/gm)].map((match) => match[1] ?? "");
  return found.filter((address) => isIP(address) === 4);
}

/**
 * The rules for packets of machines' users: QEMU's own network stack speaks as its process, so a rule for the
 * user holds whatever the guest sends. Machines have no IPv6: it is off in the guest and refused here.
 */
export function rulesOf(
  table: string,
  { firstUid, lastUid }: Users,
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
    ip daddr { ${FORBIDDEN} } jump refuse
  }
  chain output {
    type filter hook output priority 0; policy accept;
    meta skuid ${firstUid}-${lastUid} ct state established,related accept
    meta skuid ${firstUid}-${lastUid} jump machines
  }
}
`;
}

/** Replaces the rules of their table. False where this process may set none. */
export async function applyRules(rules: string): Promise<boolean> {
  return run("nft", ["-f", "-"], { input: rules }).then(
    () => true,
    () => false,
  );
}

export async function removeRules(table: string): Promise<void> {
  await run("nft", ["delete", "table", "inet", table]).catch(() => null);
}
