import { describe, expect, test } from "vitest";
import {
  cookiesWithoutToken,
  formerName,
  refererWithoutToken,
  shownToken,
  tokenCookie,
  withoutToken,
} from "../../../src/previews/credentials.ts";
import { headersForClient, headersForGuest } from "../../../src/previews/headers.ts";
import { seededRandom } from "../../support/worker/random.ts";

const request = (url: string, headers: Record<string, string> = {}) =>
  new Request(url, { headers });

describe("the token", () => {
  test.each([
    ["https://p.test/?svc_token=q", { "x-svc-preview-token": "h" }, { token: "q", in: "query" }],
    ["https://p.test/", { "x-svc-preview-token": "h" }, { token: "h", in: "header" }],
    ["https://p.test/", { cookie: "a=1; __Host-svc_token=c" }, { token: "c", in: "cookie" }],
    ["http://p.test/", { cookie: "svc_token=c; a=1" }, { token: "c", in: "cookie" }],
    ["http://p.test/", { cookie: "a=1, svc_token=c" }, { token: "c", in: "cookie" }],
    ["https://p.test/?svc_token=", {}, { token: "", in: "query" }],
    // Another host of the domain may have set it: over https only a cookie of this host counts.
    ["https://p.test/", { cookie: "svc_token=c" }, null],
    ["http://p.test/", { cookie: "xsvc_token=c; svc_tokens=d" }, null],
    ["http://p.test/", {}, null],
  ])("of %s with %j is %j", (url, headers, shown) => {
    expect(shownToken(request(url, headers))).toEqual(shown);
  });

  const navigation = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  const foreign = { origin: "https://evil.test", "sec-fetch-site": "cross-site" };
  test.each<[string, boolean, string, Record<string, string>]>([
    ["no browser", true, "GET", {}],
    ["no browser that writes", true, "POST", {}],
    [
      "a tab, from a link elsewhere",
      true,
      "GET",
      { ...navigation, "sec-fetch-site": "cross-site" },
    ],
    ["a tab, by its address", true, "GET", { ...navigation, "sec-fetch-site": "none" }],
    ["a form elsewhere", false, "POST", { ...navigation, ...foreign }],
    ["a form of the preview", true, "POST", { ...navigation, origin: "https://p.test" }],
    ["a page of the preview", true, "GET", { "sec-fetch-site": "same-origin" }],
    ["a script of the preview that writes", true, "POST", { origin: "https://p.test" }],
    ["a WebSocket of the preview", true, "GET", { origin: "https://p.test", upgrade: "websocket" }],
    [
      "a WebSocket of another page",
      false,
      "GET",
      { origin: "https://evil.test", upgrade: "websocket" },
    ],
    ["a script of another page", false, "GET", foreign],
    ["a script of a page without an origin", false, "GET", { origin: "null" }],
    [
      "a picture in another page",
      false,
      "GET",
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" },
    ],
    [
      "a picture in another preview",
      false,
      "GET",
      { "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" },
    ],
    [
      "a frame of another page",
      false,
      "GET",
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
    ],
    ["the same host by another scheme", false, "GET", { origin: "http://p.test" }],
  ])("in the cookie, asked by %s, counts: %s", (_who, counts, method, headers) => {
    const cookie = "__Host-svc_token=c";
    const asked = new Request("https://p.test/", { method, headers: { ...headers, cookie } });
    expect(shownToken(asked)).toEqual(counts ? { token: "c", in: "cookie" } : null);
    const shown = new Request("https://p.test/?svc_token=q", { method, headers });
    expect(shownToken(shown)).toEqual({ token: "q", in: "query" });
  });

  test("by a former name is told its new one", () => {
    expect(formerName(request("http://p.test/?preview_token=a"))).toContain("svc_token");
    const header = { "x-preview-token": "a" };
    expect(formerName(request("http://p.test/", header))).toContain("x-svc-preview-token");
    const cookie = { cookie: "b=1; preview_token=a" };
    expect(formerName(request("http://p.test/", cookie))).toContain("svc_token");
    expect(formerName(request("https://p.test/", cookie))).toContain("__Host-svc_token");
    expect(
      formerName(request("http://p.test/?x_preview_token=1", { cookie: "a=preview_token=1" })),
    ).toBeNull();
  });

  test("travels on in a cookie of this host alone that dies with it", () => {
    expect(tokenCookie("t", "https:", 3_599_900)).toBe(
      "__Host-svc_token=t; Path=/; Max-Age=3599; HttpOnly; Secure; SameSite=None; Partitioned",
    );
    expect(tokenCookie("t", "http:", 1000)).toBe(
      "svc_token=t; Path=/; Max-Age=1; HttpOnly; SameSite=Lax",
    );
  });
});

describe("what is left for the guest", () => {
  test.each([
    ["?svc_token=x", ""],
    ["?a=1&svc_token=x&b=%20+%2F", "?a=1&b=%20+%2F"],
    ["?svc_token=x&svc_token=y&a", "?a"],
    ["?%73vc_token=x&a=1", "?a=1"],
    ["?svc%5Ftoken&a=1", "?a=1"],
    ["?a=svc_token=x", "?a=svc_token=x"],
    ["?a=%26svc_token%3Dx", "?a=%26svc_token%3Dx"],
    ["??svc_token=x", "??svc_token=x"],
    ["?svc_tokens=x&SVC_TOKEN=y", "?svc_tokens=x&SVC_TOKEN=y"],
    ["?&&a=1&", "?&&a=1&"],
    ["", ""],
  ])("of the query %s is %s", (search, kept) => {
    expect(withoutToken(search)).toBe(kept);
  });

  test.each([
    ["svc_token=x", null],
    ["a=1; svc_token=x; b=2", "a=1; b=2"],
    ["svc_token=x; a=1", "a=1"],
    ["a=1; __Host-svc_token=x", "a=1"],
    ["a=1, svc_token=x, b=2", "a=1, b=2"],
    ["a=1;svc_token=x;b=2", "a=1;b=2"],
    ["svc_token=x; svc_token=y", null],
    ["xsvc_token=1; a=svc_token=2", "xsvc_token=1; a=svc_token=2"],
    ['a="q;r"; b= spaced ', 'a="q;r"; b= spaced '],
  ])("of the cookies %s is %s", (cookies, kept) => {
    expect(cookiesWithoutToken(cookies)).toBe(kept);
  });

  test.each([
    ["http://p.test/a?svc_token=x", "http://p.test/a"],
    ["http://p.test/a?b=%2F&svc_token=x", "http://p.test/a?b=%2F"],
    ["http://p.test/svc_token=x", "http://p.test/svc_token=x"],
  ])("of the Referer %s is %s", (referer, kept) => {
    expect(refererWithoutToken(referer)).toBe(kept);
  });

  test("never holds the token, wherever it stood, and all else whole", () => {
    const random = seededRandom(11);
    const names = ["a", "svc_token", "svc%5Ftoken", "b[]", "svc_tokens", "", "%73vc_token"];
    const some = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)];
    for (let round = 0; round < 2000; round += 1) {
      const pairs = Array.from({ length: Math.floor(random() * 6) }, () => {
        const name = some(names) ?? "";
        const isOurs = /^(svc_token|svc%5Ftoken|%73vc_token)$/.test(name);
        return { text: `${name}=${isOurs ? "SECRET" : "kept"}`, isOurs };
      });
      const join = (texts: string[]) => (texts.length > 0 ? `?${texts.join("&")}` : "");
      const all = join(pairs.map(({ text }) => text));
      const kept = join(pairs.filter(({ isOurs }) => !isOurs).map(({ text }) => text));
      expect(withoutToken(all)).toBe(kept);
    }
  });
});

describe("headers", () => {
  test("of a request: nothing of ours, of this connection or forged reaches the guest", () => {
    const headers = headersForGuest(
      request("https://L-80.p.test:8443/a", {
        accept: "text/html",
        authorization: "Basic abc",
        "accept-encoding": "gzip",
        "cache-control": "max-age=0",
        connection: "close, x-hop",
        "x-hop": "1",
        cookie: "a=1; __Host-svc_token=SECRET",
        referer: "https://l-80.p.test:8443/?svc_token=SECRET&b=1",
        "x-svc-preview-token": "SECRET",
        "x-svc-forward-authorization": "forged",
        "x-svc-answer": "guest",
        "x-forwarded-host": "forged",
        "x-forwarded-for": "6.6.6.6",
        forwarded: "for=6.6.6.6",
        "x-real-ip": "6.6.6.6",
        "cf-connecting-ip": "1.2.3.4",
        "cf-ray": "x",
        te: "trailers",
        "sec-websocket-key": "abc",
        "sec-websocket-protocol": "p",
      }),
    );
    expect(Object.fromEntries(headers)).toEqual({
      accept: "text/html",
      cookie: "a=1",
      referer: "https://l-80.p.test:8443/?b=1",
      "sec-websocket-protocol": "p",
      "x-forwarded-for": "1.2.3.4",
      "x-forwarded-host": "l-80.p.test:8443",
      "x-forwarded-proto": "https",
      "x-svc-forward-accept-encoding": "gzip",
      "x-svc-forward-authorization": "Basic abc",
      "x-svc-forward-cache-control": "max-age=0",
      "x-svc-forward-host": "l-80.p.test:8443",
    });
  });

  test("of a request: an API key that is shown by mistake stays here", () => {
    const shown = request("http://l-80.p.test/", { authorization: "Bearer svc_live_a_b" });
    expect([...headersForGuest(shown).values()].join()).not.toContain("svc_live");
  });

  test("of an answer: cookies stay of this host alone, each a header of its own", () => {
    const answer = new Headers([
      ["set-cookie", "a=1; Path=/; Domain=.p.test; Secure"],
      ["set-cookie", "b=2; DOMAIN = p.test"],
      ["set-cookie", "c=domain=x"],
      ["x-svc-answer", "guest"],
      ["location", "/x?svc_token=kept"],
    ]);
    const headers = headersForClient(answer, "/", "svc_token=t");
    expect(headers.getSetCookie()).toEqual([
      "a=1; Path=/; Secure",
      "b=2",
      "c=domain=x",
      "svc_token=t",
    ]);
    expect(headers.get("location")).toBe("/x?svc_token=kept");
    expect(headers.has("x-svc-answer")).toBe(false);
  });

  test.each([
    ["clear-site-data", '"cookies"', null],
    ["clear-site-data", '"*"', '"cache", "storage", "executionContexts"'],
    ["clear-site-data", '"cookies", "storage"', '"storage"'],
    ["service-worker-allowed", "/", null],
    ["service-worker-allowed", "../", null],
    ["service-worker-allowed", "https://evil.test/static/js/", null],
    ["service-worker-allowed", "/static/js/", "/static/js/"],
    ["service-worker-allowed", "deeper", "deeper"],
    ["strict-transport-security", "max-age=9; includeSubDomains; preload", "max-age=9"],
    ["x-svc-anything", "1", null],
    ["x-frame-options", "DENY", "DENY"],
  ])("%s: %s comes as %s", (name, value, kept) => {
    const headers = headersForClient(new Headers({ [name]: value }), "/static/js/worker.js");
    expect(headers.get(name)).toBe(kept);
  });
});
