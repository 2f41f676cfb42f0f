import type { CaptchaKind } from "./challenge.ts";

// Scripts that run in pages, as text: this project's own types know no document.

/** The name of the isolated world that looks for captchas. */
export const WORLD = "svc_captcha";
/** The lookout of a document, in its isolated world. */
const LOOKOUT = "__svcCaptcha";
/** A document that changes all the time is looked at no more often. */
const LOOK_MS = 400;
/** More are no honest page's. */
export const MOST_WIDGETS = 8;

/** Longer texts of a page come from nobody who wants a captcha to be solved. */
const LONGEST_TEXT = 1_000;

/** The fields that a widget leaves its token in, by the name that sites read. */
const FIELDS: Record<CaptchaKind, string[]> = {
  recaptcha: ["g-recaptcha-response"],
  hcaptcha: ["h-captcha-response", "g-recaptcha-response"],
  turnstile: ["cf-turnstile-response"],
};

const FIND = `
  const FIELDS = ${JSON.stringify(FIELDS)};
  const CLASSES = { recaptcha: "g-recaptcha", hcaptcha: "h-captcha", turnstile: "cf-turnstile" };
  const fieldsOf = (kind) => FIELDS[kind].flatMap((name) => [...document.querySelectorAll('[name="' + name + '"]')]);
  const isAnswered = (kind) => fieldsOf(kind).some(({ value }) => value);
  const paramsOf = ({ search, hash }) => {
    const all = new URLSearchParams(search);
    for (const [name, value] of new URLSearchParams(hash.slice(1))) all.set(name, value);
    return all;
  };
  // Version 3 of reCAPTCHA gives a score to every page: there is nothing to solve.
  const isScored = (key) =>
    [...document.querySelectorAll('script[src*="/recaptcha/"]')].some(({ src }) => src.includes("render=" + key));
  const framed = (frame) => {
    const url = URL.canParse(frame.src) ? new URL(frame.src) : null;
    if (!url) return null;
    const params = paramsOf(url);
    if (url.pathname.endsWith("/recaptcha/api2/anchor"))
      return ["recaptcha", params.get("k"), params.get("size") === "invisible"];
    if (/(^|\\.)hcaptcha\\.com$/.test(url.hostname))
      return ["hcaptcha", params.get("sitekey"), params.get("size") === "invisible"];
    return null;
  };
  const find = () => {
    const widgets = new Map();
    const add = (kind, siteKey, { isInvisible = false, ...texts }) => {
      const all = [siteKey, ...Object.values(texts)];
      if (!siteKey || all.some((text) => text && text.length > ${LONGEST_TEXT})) return;
      if ( widgets.size >= ${MOST_WIDGETS} || isAnswered(kind)) return;
      if (kind === "recaptcha" && isScored(siteKey)) return;
      const name = kind + " " + siteKey;
      if (!widgets.has(name)) widgets.set(name, { kind, siteKey, isInvisible, ...texts });
    };
    for (const [kind, className] of Object.entries(CLASSES))
      for (const element of document.querySelectorAll("." + className + "[data-sitekey]")) {
        const { sitekey, size, action, cdata, callback } = element.dataset;
        add(kind, sitekey, { isInvisible: size === "invisible", action, data: cdata, callback });
      }
    for (const element of document.querySelectorAll("iframe[src]")) {
      const [kind, siteKey, isInvisible] = framed(element) ?? [];
      if (kind) add(kind, siteKey, { isInvisible });
    }
    // A Turnstile that a script has rendered leaves its field alone: its frame is in a closed tree.
    const isBare = (field) => !field.value && !field.closest(".cf-turnstile[data-sitekey]");
    return { widgets: [...widgets.values()], hasBareTurnstile: fieldsOf("turnstile").some(isBare) };
  };`;

/** The script that looks for captchas in a document, and tells of what it finds by `binding`. */
export const lookoutScript = (binding: string): string => `(() => {
  if (globalThis.${LOOKOUT}) return;
  const BINDING = ${JSON.stringify(binding)};
  ${FIND}
  const NOTHING = JSON.stringify({ widgets: [], hasBareTurnstile: false });
  let told = NOTHING;
  let timer = 0;
  const look = () => {
    timer = 0;
    const found = JSON.stringify(find());
    if (found === told) return;
    const send = globalThis[BINDING];
    if (typeof send !== "function") return void later();
    told = found;
    send(found);
  };
  const later = () => (timer ||= setTimeout(look, ${LOOK_MS}));
  const fill = (kind, token) => {
    const fields = fieldsOf(kind);
    for (const field of fields) field.value = token;
    return fields.length;
  };
  globalThis.${LOOKOUT} = { find, fill };
  const options = { childList: true, subtree: true, attributes: true, attributeFilter: ["data-sitekey", "src"] };
  new MutationObserver(later).observe(document, options);
  later();
})()`;

/** Puts a token into the fields of a kind. The number of fields. */
export const fillScript = (kind: CaptchaKind, token: string): string =>
  `globalThis.${LOOKOUT}?.fill(${JSON.stringify(kind)}, ${JSON.stringify(token)}) ?? 0`;

/** Where a document is, as far as others may know. */
export const WHERE = `/^https?:$/.test(location.protocol)
  ? location.origin + (location.pathname.length > ${LONGEST_TEXT} ? "/" : location.pathname)
  : null`;

/** Whether a page has what it renders Turnstiles with, in its own world. */
export const HAS_TURNSTILE = `typeof turnstile === "object" && turnstile !== null`;

// Functions for a page's own world. They run under \`throwOnSideEffect\`: where a page would notice them, they fail.

/** A plain object of the page's world: its prototype is that of all objects. */
export const PLAIN = `function () { return {}; }`;

/** Of objects that have it, one's own plain property: no getter is called. */
const OWN = `const own = (object, name) => {
    const property = object && Object.getOwnPropertyDescriptor(object, name);
    return property && property.value;
  };`;

/**
 * The Turnstiles that were rendered by a script, among all objects of the page: each with the `next` one. A list that
 * grows would count as a trace.
 */
export const RENDERED = `function () {
  ${OWN}
  let found = null;
  let count = 0;
  for (let at = 0; at < this.length && count < ${MOST_WIDGETS}; at += 1) {
    const siteKey = own(this[at], "sitekey");
    // As the keys of Turnstile are.
    if (typeof siteKey !== "string" || siteKey[1] !== "x") continue;
    if (siteKey.length < 10 || siteKey.length > ${LONGEST_TEXT}) continue;
    let one = found;
    while (one && one.siteKey !== siteKey) one = one.next;
    if (one) continue;
    const text = (name) => {
      const value = own(this[at], name);
      return typeof value === "string" && value.length <= ${LONGEST_TEXT} ? value : undefined;
    };
    const action = text("action");
    const data = text("cData");
    found = { kind: "turnstile", siteKey, action, data, next: found };
    count += 1;
  }
  return found;
}`;

/** The callback that was given with this key to a script of a captcha, among all objects of the page. */
export const CALLBACK_OF_KEY = `function (siteKey) {
  ${OWN}
  for (let at = this.length - 1; at >= 0; at -= 1) {
    if (own(this[at], "sitekey") !== siteKey) continue;
    const callback = own(this[at], "callback");
    if (typeof callback === "function") return callback;
    if (typeof callback === "string" && typeof globalThis[callback] === "function") return globalThis[callback];
  }
  return undefined;
}`;

/** The function of this name, as \`data-callback\` has it. Of the page's document. */
export const CALLBACK_OF_NAME = `function (name) {
  let at = this.defaultView;
  for (const part of name.split(".")) at = at === undefined || at === null ? undefined : at[part];
  return typeof at === "function" ? at : undefined;
}`;

export const CALL = `function (token) { this(token); }`;
