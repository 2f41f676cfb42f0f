import { OwnClient } from "../../../browser-pool/cdp/own-client.ts";
import { HeadedBrowser } from "./headed-browser.ts";
import type { Subject } from "./lookout.ts";

const SHELL = "/usr/lib/chromium/chromium-headless-shell";

const PATCHES = `
  const { getParameter } = WebGLRenderingContext.prototype;
  WebGLRenderingContext.prototype.getParameter = function (name) { return name === 37446 ? "Apple" : getParameter.call(this, name); };
  Object.defineProperty(navigator, "hardwareConcurrency", { get: () => 16 });
  Object.defineProperty(Navigator.prototype, "deviceMemory", { get: () => 4 });
  const { resolvedOptions } = Intl.DateTimeFormat.prototype;
  Intl.DateTimeFormat.prototype.resolvedOptions = function () { return { ...resolvedOptions.call(this), timeZone: "Asia/Tokyo" }; };
  Object.defineProperty(NavigatorUAData.prototype, "brands", { get: () => [{ brand: "Google Chrome", version: "99" }] });
  window.__playwright_patch = true;
`;

const AGENT = {
  userAgent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/99.0.0.0 Safari/537.36",
  acceptLanguage: "fr-FR,fr;q=0.5",
  platform: "Win32",
  userAgentMetadata: {
    brands: [{ brand: "Chromium", version: "99" }],
    platform: "Windows",
    platformVersion: "",
    architecture: "x86",
    model: "",
    mobile: false,
  },
};

/** A browser without a screen whose driver changes what one page says, by the means that come to mind first. */
export const PATCHED_PAGE: Subject = {
  name: "patched page",
  visit: async ({ site: { url } }) => {
    const flags = ["--headless", "--window-size=800,600"];
    const browser = await HeadedBrowser.launch({ program: SHELL, flags });
    const client = new OwnClient(browser.mux, () => {});
    await client.open();
    const { targetId } = await client.call("Target.createTarget", { url: "about:blank" });
    const attached = await client.call("Target.attachToTarget", { targetId, flatten: true });
    const calls: [string, Record<string, unknown>][] = [
      ["Page.enable", {}],
      ["Emulation.setUserAgentOverride", AGENT],
      ["Emulation.setLocaleOverride", { locale: "de-DE" }],
      ["Page.addScriptToEvaluateOnNewDocument", { source: PATCHES }],
      ["Page.navigate", { url }],
    ];
    for (const [method, params] of calls)
      await client.call(method, params, String(attached.sessionId));
    return () => browser.close();
  },
};
