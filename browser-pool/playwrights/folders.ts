import { randomBytes } from "node:crypto";
import { join } from "node:path";

// The folder that the pool, its slots and its Playwrights share in a run. Files of one slot are named by the key of
// the slot: a client that makes Playwright write to a name of its own cannot guess the name of another slot.

/** The name of a new slot among what is shared. It fits into the name of a host. */
export function newKey(): string {
  return randomBytes(16).toString("hex");
}

/** The name of a new Playwright process. Its siblings, which run as the same user, cannot guess it. The path of a socket is short. */
export function newName(): string {
  return randomBytes(8).toString("hex");
}

/** The folder that Playwrights see of a run. */
export const rootOf = (run: string): string => join(run, "wire");
/** One Playwright's own folder. */
export const homeOf = (root: string, name: string): string => join(root, name);
/** Where it takes connections of the pool, one for each browser. */
export const controlOf = (home: string): string => join(home, "control.sock");
/** Where it answers clients of one browser. */
export const endpointOf = (home: string, key: string): string => join(home, `${key}.sock`);
/** Files of uploads and downloads, which its browser sees under the same path. */
export const filesOf = (root: string, key: string): string => join(root, "files", key);
/** The way out for API requests: that of the slot's browser. */
export const egressOf = (root: string, key: string): string => join(root, "egress", key);
/** The same as a proxy, by the name of a host that exists nowhere. */
export const proxyOf = (key: string): string => `socks5://${key}.egress:1080`;

/** The URL that Playwright gets for a customer's own proxy: the name of its host holds the customer's URL. */
export function chainedProxyOf(key: string, server: string): string {
  const scheme = /^socks\w*(?=:\/\/)/i.exec(server)?.[0] ?? "http";
  return `${scheme}://${Buffer.from(server).toString("hex")}.${key}.egress:1080`;
}

/** The URL that a customer gave for a chained proxy, from the name of its host; null for other hosts. */
export function upstreamUrlIn(host: string): string | null {
  const hex = /^([0-9a-f]+)\.[0-9a-f]{32}\.egress(?::\d+)?\/?$/.exec(host)?.[1];
  return hex ? Buffer.from(hex, "hex").toString() : null;
}

/** The key in the name of such a host. */
export function keyOfProxy(host: string): string | null {
  return /^(?:[0-9a-f]+\.)?([0-9a-f]{32})\.egress$/.exec(host)?.[1] ?? null;
}
