import { createHmac } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Site } from "../fakes/site.ts";
import { hostilePages } from "./hostile-login.ts";

/** The account that may sign in. */
export const ACCOUNT = {
  username: "ada@example.com",
  password: 'correct "horse" & <battery>',
  totp: "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
} as const;

const STEP_MS = 30_000;

/** The code of a TOTP secret in base32 (RFC 6238, usual defaults), written apart from the product's own. */
export function codeOf(secret: string, now: number): string {
  const bits = secret
    .split("")
    .map((sign) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(sign).toString(2).padStart(5, "0"))
    .join("");
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(now / STEP_MS)));
  const mac = createHmac("sha1", key).update(counter).digest();
  const at = (mac.at(-1) ?? 0) & 15;
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

/** As sites do, it takes the code of the step before, too: on its way from a slow computer a step may have ended (RFC 6238, 5.2). */
const isCode = (sent: string | null, now: number): boolean =>
  [now, now - STEP_MS].some((at) => sent === codeOf(ACCOUNT.totp, at));

const page = (title: string, body: string): string =>
  `<!doctype html><title>${title}</title><body style="font:20px sans-serif;margin:40px"><h1>${title}</h1>${body}`;

const user =
  "<p><label>Email <input id=user name=user autocomplete=username autofocus></label></p>";
const password =
  "<p><label>Password <input id=password name=password type=password autocomplete=current-password></label></p>";
const form = (action: string, fields: string, button: string): string =>
  `<form method=post action="${action}">${fields}<button id=go>${button}</button></form>`;

/** Pages that anybody sees. `other`: the same site under another host name. */
const pages = (other: string): Record<string, string> => ({
  "/one": page("Sign in", form("/one", user + password, "Sign in")),
  "/two": page("Who are you?", form("/two", user, "Next")),
  "/two/password": page("Your password", form("/one", password, "Sign in")),
  "/second": page("Sign in", form("/second", user + password, "Sign in")),
  "/listens": page(
    "Sign in",
    `${form("/one", `${user}<input id=field type=password><input id=password name=password type=hidden>`, "Sign in")}<script>
      go.disabled = true;
      field.oninput = (event) => event.isTrusted && (password.value = field.value);
      field.onkeyup = (event) => event.isTrusted && (go.disabled = !password.value);
    </script>`,
  ),
  "/framed": page("Embedded", `<iframe width=600 height=400 src="${other}one"></iframe>`),
  "/captcha": page("Are you human?", '<div class="g-recaptcha" data-sitekey="x">A puzzle</div>'),
  "/sms": page("Sign in", form("/sms", user + password, "Sign in")),
  "/slow": page("Slow", "<script>for (;;) {}</script>"),
  "/deaf": page(
    "Sign in",
    `<div onsubmit="return false">${form("/one", user + password, "Sign in")}</div>`,
  ),
  "/nothing": page("Nothing", "<p>There is no form here.</p>"),
});

const CODE = page(
  "Enter your code",
  form(
    "/code",
    "<p><input id=code name=code autocomplete=one-time-code inputmode=numeric></p>",
    "Verify",
  ),
);
const SMS = page(
  "Check your phone",
  "<p>We sent a number to your phone. Approve it there.</p><img src=/last>",
);
const WRONG = page(
  "Sign in",
  `<p id=wrong>Wrong password.</p>${form("/one", user + password, "Sign in")}`,
);

/**
 * A site to sign in to: each path is another way of doing it. `attempts` counts passwords that were sent, and `leaked` is what
 * fields got that should get nothing.
 */
export interface LoginSite extends Site {
  /** The same site under another host name. */
  otherUrl: string;
  otherAddress: string;
  attempts: number;
  leaked: string;
  /** The page of another second factor has not loaded before this resolves. */
  last: Promise<void>;
}

export async function startLoginSite(): Promise<LoginSite> {
  // A page may be closed while it still sends.
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const site: LoginSite = {
    url: `http://127.0.0.1:${port}/`,
    address: `127.0.0.1:${port}`,
    otherUrl: `http://localhost:${port}/`,
    otherAddress: `localhost:${port}`,
    attempts: 0,
    leaked: "",
    last: Promise.resolve(),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  const shown = { ...pages(site.otherUrl), ...hostilePages(site.otherUrl) };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, headers, url = "/" } = request;
    const path = url.split("?")[0] ?? "";
    const html = (body: string): void => {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(body);
    };
    const go = (location: string, cookies: string[] = []): void => {
      response.writeHead(303, { location, "set-cookie": cookies }).end();
    };
    if (method === "POST") {
      const body = await text(request);
      if (path === "/leak") {
        site.leaked += body;
        return html("");
      }
      const sent = new URLSearchParams(body);
      if (path === "/two") return go("/two/password");
      if (path === "/code")
        return isCode(sent.get("code"), Date.now())
          ? go("/home", ["sid=ada; Max-Age=3600; Path=/"])
          : html(CODE);
      site.attempts += 1;
      if (sent.get("password") !== ACCOUNT.password) return html(WRONG);
      if (path === "/second") return html(CODE);
      if (path === "/sms") return html(SMS);
      return go("/home", ["sid=ada; Max-Age=3600; Path=/"]);
    }
    if (path === "/last") {
      await site.last;
      response.writeHead(404).end();
      return;
    }
    if (path === "/elsewhere") return go(`${site.otherUrl}one`);
    if (path === "/home") {
      const isIn = headers.cookie?.includes("sid=ada") ?? false;
      return html(
        isIn ? page("Home", "<p id=who>Signed in as Ada</p>") : page("Home", "Signed out"),
      );
    }
    html(shown[path] ?? page("None", ""));
  }
  return site;
}
