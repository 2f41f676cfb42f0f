import { isObject } from "../cdp/envelope.ts";
import { PROXY_PORT } from "../launch/door.ts";
import { upstreamUrlIn } from "../playwrights/folders.ts";

/** More contexts with a proxy of their own than a browser holds. */
const MOST = 1_000;
/** A text that names proxies is no longer than this. */
const TEXT_LENGTH = 4_096;
const PORTS: Record<string, number> = {
  http: 80,
  https: 443,
  socks: 1080,
  socks4: 1080,
  socks5: 1080,
};

/** A customer's own proxy, in front of which the forwarder stands. */
export interface Upstream {
  host: string;
  port: number;
  /** Whether the proxy is spoken to over TLS: the forwarder does, since the browser knows its name no more. */
  isTls: boolean;
}

/** The proxy in a URL such as `https://proxy.test:8443`; null when there is none. */
export function upstreamOf(url: string): Upstream | null {
  const [, scheme = "http", host = "", port] =
    /^(?:(\w+):\/\/)?(\[[^\]]+\]|[^:/@\s]+)(?::(\d{1,5}))?\/?$/.exec(url.trim()) ?? [];
  const usual = PORTS[scheme.toLowerCase()];
  if (!host || usual === undefined) return null;
  const isTls = scheme.toLowerCase() === "https";
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port ?? usual), isTls };
}

/**
 * The proxies that customers gave contexts of their own. Inside a slot nothing but the forwarder answers, so the browser is
 * told an address of its loopback that stands for each of these proxies.
 */
export class Upstreams {
  readonly #byAddress = new Map<string, Upstream>();
  readonly #addresses = new Map<string, string>();

  /** The proxy that an address of loopback stands for. */
  at(address: string | undefined): Upstream | null {
    return (address !== undefined && this.#byAddress.get(address)) || null;
  }

  /** The parameters of Target.createBrowserContext as the browser is to have them. */
  chained(params: unknown): unknown {
    if (!isObject(params) || typeof params.proxyServer !== "string") return params;
    if (params.proxyServer.length > TEXT_LENGTH) return params;
    const proxyServer = params.proxyServer
      .split(";")
      .map((rule) => this.#rule(rule))
      .join(";");
    // Nothing is reached without a proxy, so none is bypassed.
    return { ...params, proxyServer, proxyBypassList: "<-loopback>" };
  }

  #rule(rule: string): string {
    const [, kind = "", list = ""] = /^(\s*\w+\s*=)?(.*)$/s.exec(rule) ?? [];
    return `${kind}${list
      .split(",")
      .map((proxy) => this.#inside(proxy))
      .join(",")}`;
  }

  // A proxy that is not understood stays as it is: it leads nowhere.
  #inside(proxy: string): string {
    const [, scheme = "http", rest = ""] = /^\s*(?:(\w+):\/\/)?(.*)$/s.exec(proxy) ?? [];
    const url = upstreamUrlIn(rest) ?? proxy;
    const upstream = upstreamOf(url);
    const address = upstream && this.#addressFor(upstream);
    if (!address) return proxy;
    return `${upstream.isTls ? "http" : scheme}://${address}:${PROXY_PORT}`;
  }

  #addressFor(upstream: Upstream): string | null {
    const name = JSON.stringify(upstream);
    const known = this.#addresses.get(name);
    if (known) return known;
    const index = this.#addresses.size + 1;
    if (index > MOST) return null;
    const address = `127.1.${index >> 8}.${index & 255}`;
    this.#addresses.set(name, address);
    this.#byAddress.set(address, upstream);
    return address;
  }
}
