import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";

const SAY = `const say = (token) => (document.title = "called " + token);`;

/** A page with a captcha, and what a provider is to be asked. */
export interface CaptchaPage {
  html: string;
  kind: string;
  siteKey: string;
}

/** The five forms that sites use, and forms of them. What a script of a captcha leaves on a page is written by hand. */
export const PAGES: Record<string, CaptchaPage> = {
  "a reCAPTCHA by its class": {
    kind: "recaptcha",
    siteKey: "6LeIxAcTAAAAAJcZVRqyHh71UMIEGNQ_MXjiZKhI",
    html: `<div class="g-recaptcha" data-sitekey="6LeIxAcTAAAAAJcZVRqyHh71UMIEGNQ_MXjiZKhI" data-callback="say"></div>
      <textarea name="g-recaptcha-response" style="display:none"></textarea><script>${SAY.replace("const", "var")}</script>`,
  },
  "a reCAPTCHA that a script has rendered": {
    kind: "recaptcha",
    siteKey: "6Lc-explicit",
    html: `<iframe src="/recaptcha/api2/anchor?k=6Lc-explicit"></iframe><textarea name="g-recaptcha-response"></textarea>
      <script>${SAY} ___grecaptcha_cfg = { clients: { 0: { x: { y: { sitekey: "6Lc-explicit", callback: say } } } } };</script>`,
  },
  "an hCaptcha": {
    kind: "hcaptcha",
    siteKey: "10000000-ffff-ffff-ffff-000000000001",
    html: `<div class="h-captcha" data-sitekey="10000000-ffff-ffff-ffff-000000000001" data-callback="my.say">
      <textarea name="h-captcha-response"></textarea><textarea name="g-recaptcha-response"></textarea></div><script>${SAY} my = { say };</script>`,
  },
  "a Turnstile by its class": {
    kind: "turnstile",
    siteKey: "1x00000000000000000000AA",
    html: `<form><div class="cf-turnstile" data-sitekey="1x00000000000000000000AA" data-callback="say" data-action="login"
      data-cdata="c-1"><input type="hidden" name="cf-turnstile-response"></div></form><script>${SAY.replace("const", "var")}</script>`,
  },
  "a Turnstile that a script has rendered": {
    kind: "turnstile",
    siteKey: "0x4AAAAAAADnPIDROrmt1Wwj",
    // The real script keeps what it was given behind a closure, in a map by widget.
    html: `<div id="x"></div><script>${SAY}
      const api = () => {
        const widgets = new Map();
        return { render: (at, params) => { widgets.set("w", { params }); return "w"; }, reset: () => widgets.clear() };
      };
      window.turnstile = api();
      turnstile.render("#x", { sitekey: "0x4AAAAAAADnPIDROrmt1Wwj", action: "login", cData: "c-2", callback: (token) => say(token) });</script>`,
  },
  "a Turnstile that a script renders later, with its field": {
    kind: "turnstile",
    siteKey: "0x4AAAAAAADnPIDROrmtLATE",
    html: `<div id="x"></div><script>${SAY}
      window.turnstile = { kept: [] };
      setTimeout(() => {
        turnstile.kept.push({ sitekey: "0x4AAAAAAADnPIDROrmtLATE", callback: (token) => say(token) });
        x.innerHTML = '<input type="hidden" name="cf-turnstile-response">';
      }, 300);</script>`,
  },
};

/** A site of these pages, by their number; other paths are whatever a test has put there. */
export class CaptchaSite {
  readonly more = new Map<string, string>();
  readonly #server: Server = createServer(({ url = "" }, response) => {
    const path = url.split("?")[0] ?? "";
    const [, at] = /^\/page\/(\d+)$/.exec(path) ?? [];
    const page = at === undefined ? undefined : Object.values(PAGES)[Number(at)];
    response.setHeader("content-type", "text/html");
    response.end(page?.html ?? this.more.get(path) ?? "");
  });

  async start(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
