/** How a port is opened. */
export interface PreviewOptions {
  /** `true`: for everybody who has its host name, without a token; `false`: for holders of a token again. */
  public?: boolean | undefined;
}

/** A port of a machine on the web, for an hour (document 2, Preview access rules). */
export class Preview {
  readonly #url: string;
  /** The token of its URLs, for the header `x-svc-preview-token`. */
  declare readonly token: string;

  constructor({ url, token }: { url: string; token: string }) {
    this.#url = url;
    this.token = token;
  }

  /** The URL of a path, with the token in it: `url("/a?b=1#c")`. Anybody who has it can use it. */
  url(path = "/"): string {
    const base = new URL(this.#url);
    const url = new URL(path, base.origin);
    // A path that names another host would take the token there.
    if (url.origin !== base.origin) throw new TypeError(`${path} is no path of the preview.`);
    for (const [name, value] of base.searchParams) url.searchParams.set(name, value);
    return url.href;
  }
}
