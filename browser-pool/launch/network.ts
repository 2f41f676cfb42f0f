/** The programs that make the network of a slot. */
export interface NetworkPrograms {
  unshare: string;
  ip: string;
}

/** The interface that leads nowhere, by name. */
export const NOWHERE = "net0";

/** Of a network for documentation. Chromium counts only interfaces with an address; nothing is routed to it or from it. */
export const NOWHERE_ADDRESS = "192.0.2.1";

// A kernel without dummy interfaces has pairs of them.
const INTERFACES = `link set lo up
link add ${NOWHERE} type dummy
link add ${NOWHERE} type veth peer name ${NOWHERE}peer
address add ${NOWHERE_ADDRESS}/32 dev ${NOWHERE}
link set ${NOWHERE} addrgenmode none up
link set ${NOWHERE}peer addrgenmode none up`;
// With -force each line counts for itself: of the two kinds the second is not made where the first one is.
const MAKE = `"$1" -force -batch - >/dev/null 2>&1 <<END
${INTERFACES}
END
shift; exec "$@"`;

/**
 * The words before a command that give it a network of its own: loopback, and an interface that leads nowhere, since a
 * browser with nothing but loopback tells its pages that they are offline. The right to make interfaces is left in a user
 * namespace around the command: bwrap takes it away before it makes its own.
 */
export function inOwnNetwork({ unshare, ip }: NetworkPrograms): [string, ...string[]] {
  return [unshare, "--user", "--map-root-user", "--net", "--", "/bin/sh", "-c", MAKE, "sh", ip];
}
