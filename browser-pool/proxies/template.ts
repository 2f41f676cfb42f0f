/** The places that a provider's URL may leave open: each exit fills them in. */
export const PLACEHOLDERS = ["country", "session", "minutes", "state", "city", "asn"] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];
/** The places that not every session fills: a URL has them in brackets, with the words that go with them. */
const OPTIONAL: readonly string[] = ["state", "city", "asn"] satisfies Placeholder[];
const PORTS = { http: 80, https: 443, socks5: 1080 };

/** A proxy that is spoken to by this process: where it is, and as whom. */
export interface ProxyServer {
  scheme: keyof typeof PORTS;
  host: string;
  port: number;
  /** Null: none are asked for. */
  credentials: { name: string; password: string } | null;
}

/** The values of an exit. What is absent is not wished. */
export type ExitValues = Partial<Record<Placeholder, string>>;

const PLACEHOLDER = /\{(\w*)\}/g;
// The brackets of an IPv6 address hold no placeholder.
const GROUP = /\[([^[\]]*\{\w+\}[^[\]]*)\]/g;

/**
 * The URL of a provider's proxies, such as `http://me-country-{country}[-state-{state}]-session-{session}:pw@host:8000`. What
 * is in brackets is left out where its placeholder is not wished.
 */
export class Template {
  readonly #text: string;
  readonly #names: ReadonlySet<string>;

  /** Throws when the text is no such URL, without the text: it holds a password. */
  constructor(text: string) {
    this.#text = text.trim();
    this.#names = new Set(namesIn(this.#text));
    const known: readonly string[] = PLACEHOLDERS;
    for (const name of this.#names)
      if (!known.includes(name))
        throw new Error(`{${name}} is none of ${PLACEHOLDERS.map((one) => `{${one}}`).join(" ")}`);
    const [bare] = namesIn(this.#text.replace(GROUP, "")).filter((name) => OPTIONAL.includes(name));
    if (bare !== undefined)
      throw new Error(`put {${bare}} into brackets, as [-${bare}-{${bare}}]: not all wish it`);
    this.fill(Object.fromEntries(PLACEHOLDERS.map((name) => [name, "1"])));
    this.fill({ country: "us", session: "1", minutes: "1" });
  }

  takes(name: Placeholder): boolean {
    return this.#names.has(name);
  }

  fill(values: ExitValues): ProxyServer {
    const valueOf = (name: string): string | undefined =>
      Object.entries(values).find(([key]) => key === name)?.[1];
    const text = this.#text
      .replace(GROUP, (_, words: string) =>
        namesIn(words).every((name) => valueOf(name) !== undefined) ? words : "",
      )
      .replace(PLACEHOLDER, (_, name: string) => encodeURIComponent(valueOf(name) ?? ""));
    return serverOf(text);
  }
}

const namesIn = (text: string): string[] =>
  [...text.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);

function serverOf(text: string): ProxyServer {
  const [, scheme, rest = ""] = /^(http|https|socks5)h?:\/\/(.+)$/i.exec(text) ?? [];
  const name = scheme?.toLowerCase();
  // A URL of this scheme keeps its host as it is written.
  if (!isScheme(name) || !URL.canParse(`svc://${rest}`)) throw new Error(SHAPE);
  const url = new URL(`svc://${rest}`);
  if (url.hostname === "") throw new Error(SHAPE);
  const { username, password } = url;
  return {
    scheme: name,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || PORTS[name]),
    credentials:
      username === "" && password === ""
        ? null
        : { name: decodeURIComponent(username), password: decodeURIComponent(password) },
  };
}

const SHAPE = "write http, https or socks5://name:password@host:port, special characters as %40";

const isScheme = (name: string | undefined): name is keyof typeof PORTS =>
  name !== undefined && Object.hasOwn(PORTS, name);
