/**
 * Reads what every realm of a page knows of the browser: windows, frames and workers of every kind. A script as text:
 * this project's own types know no document.
 */
export const FACTS = String.raw`
const graphics = () => {
  const canvas = self.document ? document.createElement("canvas") : new OffscreenCanvas(1, 1);
  const gl = canvas.getContext("webgl");
  const info = gl && gl.getExtension("WEBGL_debug_renderer_info");
  if (!info) return null;
  return gl.getParameter(info.UNMASKED_VENDOR_WEBGL) + " / " + gl.getParameter(info.UNMASKED_RENDERER_WEBGL);
};
const brandsOf = (list) => (list ?? []).map(({ brand, version }) => brand + " " + version).join(", ");
/** Of a window or of a worker's global: what can be known without waiting. */
const factsOf = (global) => {
  const { navigator } = global;
  const { timeZone, locale } = global.Intl.DateTimeFormat().resolvedOptions();
  return {
    userAgent: navigator.userAgent,
    appVersion: navigator.appVersion,
    platform: navigator.platform,
    languages: navigator.languages.join(),
    language: navigator.language,
    cores: navigator.hardwareConcurrency,
    webdriver: navigator.webdriver ?? false,
    timeZone,
    locale,
    offset: new global.Date(2026, 0, 1).getTimezoneOffset() + "," + new global.Date(2026, 6, 1).getTimezoneOffset(),
    number: (1234.5).toLocaleString() + " " + new global.Intl.NumberFormat().format(1234.5),
  };
};
/** The same, with what only a secure realm has. */
const secureFactsOf = (global) => {
  const { navigator } = global;
  return {
    ...factsOf(global),
    memory: navigator.deviceMemory,
    brands: brandsOf(navigator.userAgentData?.brands),
    mobile: navigator.userAgentData?.mobile,
    system: navigator.userAgentData?.platform,
  };
};
const allFacts = async () => {
  const facts = secureFactsOf(self);
  const hints = ["architecture", "bitness", "fullVersionList", "model", "platformVersion", "wow64", "formFactors"];
  const high = await navigator.userAgentData?.getHighEntropyValues(hints);
  const sent = await fetch("/echo?" + Math.random()).then((answer) => answer.json());
  return {
    ...facts,
    high: high && JSON.stringify({ ...high, brands: undefined, fullVersionList: brandsOf(high.fullVersionList) }),
    graphics: graphics(),
    sentAgent: sent["user-agent"],
    sentBrands: sent["sec-ch-ua"],
    sentLanguages: sent["accept-language"],
  };
};
`;
