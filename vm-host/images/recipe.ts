import { createHash } from "node:crypto";

/** A release of npm, and what its archive must be. */
export interface NpmRelease {
  version: string;
  /** As package locks have it: `sha512-…`. */
  integrity: string;
}

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
  /** Texts of files, by path. They replace what packages have brought. */
  files: Record<string, string>;
  /** Symbolic links: what they lead to, by path. */
  links: Record<string, string>;
  /** The npm of the image's Node. */
  npm: NpmRelease;
  /** Python code that is run once, so that its caches and compiled files are in the image. */
  warmUp: string;
  /** Size of the file system, and the smallest disk a machine can have. */
  sizeGb: number;
}

/** The modules without which the kernel sees neither disk nor channel, in the order of their needs. */
export const BOOT_MODULES = [
  ["virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci"],
  ["virtio_blk", "failover", "net_failover", "virtio_net", "virtio_console", "virtio-rng"],
].flat();

/** A name for exactly these inputs: 16 hexadecimal characters. */
export function hashOf(...parts: unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}
