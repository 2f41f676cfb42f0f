import { createHash } from "node:crypto";

/** What an image is made of. A change here makes another image; running machines keep theirs. */
export interface Recipe {
  name: string;
  /** Debian packages beside the minimal system; each brings what it depends on, nothing it recommends. */
  packages: string[];
  /** Paths that are never unpacked. */
  excludes: string[];
  /** What is thrown away after the install: left out earlier it would break the packages' own scripts. */
  removals: string[];
  /** Kernel modules that the guest may load later, with those they need. */
  modules: string[];
  /** Python code that is run once, so that its caches and compiled files are in the image. */
  warmUp: string;
  /** Size of the file system, and the smallest disk a machine can have. */
  sizeGb: number;
}

const LIBRARY = "/usr/lib/x86_64-linux-gnu";

/** The sandbox image: a shell, git, Python with its usual libraries, Node. */
export const BASE: Recipe = {
  name: "base",
  packages: [
    ["bash", "bubblewrap", "ca-certificates", "crun", "curl", "e2fsprogs", "git", "iproute2"],
    ["kmod", "less", "netcat-openbsd", "openssh-client", "procps", "sudo", "util-linux"],
    ["xz-utils", "python3", "python3-ipython", "python3-matplotlib", "python3-numpy"],
    ["python3-pandas", "python3-pip"],
  ].flat(),
  // Documents, and the half of a C++ tool chain that matplotlib's dependencies ask for.
  excludes: [
    ["/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*", "/usr/share/info/*"],
    ["/usr/include/boost/*", "/usr/share/unicode/*", "/usr/lib/python3*/config-*/*.a"],
    [`${LIBRARY}/openblas-pthread/*.a`, `${LIBRARY}/libboost*.a`, `${LIBRARY}/libasan*`],
    [`${LIBRARY}/libtsan*`, "/usr/bin/*lto-dump*", "/usr/lib/gcc/x86_64-linux-gnu/12/lto1"],
  ].flat(),
  removals: [
    "/usr/lib/python3/dist-packages/sympy/integrals/rubi/rubi_tests",
    "/usr/lib/python3/dist-packages/sympy/*/tests",
    "/usr/lib/python3/dist-packages/sympy/*/*/tests",
  ],
  modules: [
    ["overlay", "fuse", "squashfs", "virtiofs", "virtio_balloon", "tun", "veth", "dummy"],
    ["bridge", "nf_tables", "nft_compat", "nft_masq", "nft_nat", "nft_ct", "nft_chain_nat"],
    ["ip_tables", "iptable_nat", "iptable_filter", "xt_MASQUERADE", "xt_conntrack", "loop"],
  ].flat(),
  warmUp: `import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot, numpy, pandas
from IPython.core.interactiveshell import InteractiveShell
matplotlib.pyplot.plot([1, 2])
matplotlib.pyplot.savefig("/dev/null", format="png")
InteractiveShell.instance().run_cell("1 + 1")`,
  sizeGb: 4,
};

/** The modules without which the kernel sees neither disk nor channel, in the order of their needs. */
export const BOOT_MODULES = [
  ["virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci"],
  ["virtio_blk", "failover", "net_failover", "virtio_net", "virtio_console", "virtio-rng"],
].flat();

/** A name for exactly these inputs: 16 hexadecimal characters. */
export function hashOf(...parts: unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}
