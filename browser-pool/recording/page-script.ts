import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { RecordingMask } from "@svc/contract/browser/recording.ts";
import { HIDING_OPTIONS, HIDING_SCRIPT } from "./hiding-script.ts";
import { PICTURES_SCRIPT } from "./pictures-script.ts";
import { STILL_SCRIPT } from "./still-script.ts";

/** The name of the isolated world that pages are recorded in. */
export const WORLD = "svc_recorder";
/** The recorder of a document, in its isolated world. */
export const RECORDER = "__svcRecorder";

/**
 * Takes the lines that the recorder of a document has gathered, or an empty text; where it takes pictures, a promise of them, which waits
 * up to `ms` for the last pictures.
 */
export const take = (ms: number): string => `globalThis.${RECORDER}?.take(${ms}) ?? ""`;
/**
 * Has a document hide all input from now on. It gives the lines of before, if it comes to it by `until` (ms since the epoch): later
 * somebody may have typed, as they may in a document that comes later (0).
 */
export const hide = (until: number): string => `globalThis.${RECORDER}?.hide(${until}) ?? ""`;
/** Has a document show again what is typed from now on. */
export const SHOW = `globalThis.${RECORDER}?.show()`;
/** A document was opened anew by `document.open`, which takes its listeners away. */
export const AGAIN = `globalThis.${RECORDER}?.again()`;

/**
 * How long a document has after its DOM is there before rrweb looks at it, and how much longer it may be busy. Its first picture,
 * its load and whatever its client does next come first: a document that is left by then has a still alone, which is cheap.
 */
const SETTLE_MS = 250;
const IDLE_MS = 250;
/** A document that somebody uses is recorded at once: what they do is to be in it. */
const USES = ["pointermove", "pointerdown", "keydown", "wheel", "input"];
/** A still that was taken no longer ago is as good as another. */
const TAKEN_MS = 250;
const PUSH_MS = 200;
const PUSH_SIZE = 64 * 1024;
/** Beyond it a document that nobody asks loses what it has gathered; the next snapshot has what is there then. */
const MOST_SIZE = 32 * 1024 * 1024;
/**
 * Most that a document may say in a second. A document that says more is looked at again a second later: its events would keep the pool
 * from the browsers of others.
 */
const MOST_IN_SECOND = 8 * 1024 * 1024;
/** The recorder does not see what scripts do to values of inputs and to rules of style sheets: a snapshot shows it. */
const CHECKOUT_MS = 15_000;

/**
 * A list of rrweb's of what pages may have changed, and what it should be: methods are no accessors. By the list as it is,
 * rrweb takes every page for one that has changed them, and adds a frame to it.
 */
const UNTAINTED = {
  is: 'Element:["shadowRoot","querySelector","querySelectorAll"]',
  shouldBe: 'Element:["shadowRoot"]',
};

/** The recorder of rrweb as a script. Its package does not export the file by name. */
export async function readRrweb(): Promise<string> {
  const main = createRequire(import.meta.url).resolve("@rrweb/record");
  const read = await readFile(join(dirname(main), "record.umd.min.cjs"), "utf8");
  if (!read.includes(UNTAINTED.is))
    throw new Error("this is not the version of rrweb that it should be");
  const script = read.replace(UNTAINTED.is, UNTAINTED.shouldBe);
  return script.replace(/\n?\/\/# sourceMappingURL=.*\s*$/, "\n");
}

// Scripts that run in pages, as text: this project's own types know no document.

/**
 * Whether the value of an input is a secret, whatever the session's mask: passwords, also those that a page shows, codes
 * and cards.
 */
const SECRETS = `
  const passwords = new WeakSet();
  // A page may show one before anybody looks at it.
  new MutationObserver((changes) => {
    for (const { target, oldValue } of changes)
      if (oldValue?.toLowerCase() === "password") passwords.add(target);
  }).observe(document, { subtree: true, attributeFilter: ["type"], attributeOldValue: true });
  const NAMES = /card[-_ ]?(num|no|nr|holder|code|exp)|(^|[^a-z])cc[-_ ]?(num|no|name|csc|cvc|cvv|exp)|cvc|cvv|(^|[^a-z])csc([^a-z]|$)|security[-_ ]?code|(^|[^a-z])t?otp([^a-z]|$)|one[-_ ]?time|pass[-_ ]?(code|word|phrase)|(verification|auth)[-_ ]?code|(^|[^a-z])([2m]fa|pin)([^a-z]|$)/i;
  const isSecret = (element) => {
    if (!element || passwords.has(element)) return true;
    if (element.type === "password") return Boolean(passwords.add(element));
    const read = (name) => element.getAttribute(name) ?? "";
    const uses = read("autocomplete").toLowerCase().split(/\\s+/);
    if (uses.some((use) => use === "one-time-code" || use.startsWith("cc-") || use.endsWith("-password")))
      return true;
    return ["name", "id", "placeholder", "aria-label"].some((name) => NAMES.test(read(name)));
  };
  // Pages would see the mark that rrweb puts on an input that was a password.
  const MARK = "data-rr-is-password";
  const { hasAttribute, setAttribute } = Element.prototype;
  Element.prototype.setAttribute = function (name, value) {
    if (name === MARK) passwords.add(this);
    else setAttribute.call(this, name, value);
  };
  Element.prototype.hasAttribute = function (name) {
    return name === MARK ? passwords.has(this) : hasAttribute.call(this, name);
  };`;

/** Gathers lines and gives them to the binding, a batch at a time. */
const BUFFER = `
  let lines = [];
  let size = 0;
  let timer = 0;
  let stop = null;
  let rrweb = null;
  const join = () => {
    const text = lines.join("\\n");
    lines = [];
    size = 0;
    return text;
  };
  const push = () => {
    clearTimeout(timer);
    timer = 0;
    if (lines.length === 0) return;
    const send = globalThis[BINDING];
    if (typeof send === "function") send(join());
    else timer = setTimeout(push, 10);
  };
  let second = 0;
  let spent = 0;
  let hasLost = false;
  const catchUp = () => {
    if (!hasLost) return;
    hasLost = false;
    spent = 0;
    rrweb?.takeFullSnapshot(true);
  };
  /** Tells an event; false where the document has said too much in this second: then the event is lost. */
  const emit = (event) => {
    if (isHiding && isInput(event)) return true;
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) spent = 0;
    second = now;
    if (spent > ${MOST_IN_SECOND}) {
      if (!hasLost) setTimeout(catchUp, 1000);
      hasLost = true;
      return false;
    }
    const line = JSON.stringify(event);
    spent += line.length;
    if (size > ${MOST_SIZE}) join();
    lines.push(line);
    size += line.length;
    if (size > ${PUSH_SIZE}) push();
    else timer ||= setTimeout(push, ${PUSH_MS});
    if (TAKES_PICTURES) notice(event, line);
    return true;
  };`;

const COMMON = `maskInputOptions: { input: true, textarea: true, select: true },
        inlineStylesheet: true,
        recordCrossOriginIframes: false,
        checkoutEveryNms: ${CHECKOUT_MS},
        sampling: { mousemove: 50, scroll: 100 },
        errorHandler: () => true,`;

/** Has rrweb record the document from now on. */
const BEGIN = `
  const begin = () => {
    if (stop || !document.documentElement) return;
    // Else a document that loads for long would be looked at when it has loaded.
    Object.defineProperty(document, "readyState", { value: "interactive", configurable: true });
    try {
      // Loaded anew for a document that was opened anew: its nodes are numbered from 1.
      const holder = {};
      load.call(holder, undefined, undefined, undefined, silent, registry);
      rrweb = holder.rrwebRecord.record;
      stop = rrweb({
        emit,
        maskInputFn: maskInput,
        ...(MASKS_ALL && { maskTextSelector: "*", blockSelector: [...BLOCKED].join() }),
        ${HIDING_OPTIONS}
        ${COMMON}
      }) ?? (() => {});
    } catch {}
    delete document.readyState;
    ready();
    eye.disconnect();
  };`;

/** Begins once the document is idle. One that goes before has a still. */
const LISTEN = `
  const uses = ${JSON.stringify(USES)};
  // A document that has not changed since it was told of needs no other still: its client does not wait for one.
  let isTold = false;
  const eye = new MutationObserver(() => {
    isTold = false;
    eye.disconnect();
  });
  const tell = () => {
    if (stop || !document.documentElement) return;
    if (hasHidden) return begin();
    try {
      takeStill();
    } catch {
      return;
    }
    push();
    // Style sheets that come later are no change of the document.
    isTold = isPlain && document.readyState === "complete";
    if (isTold)
      eye.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  };
  // The browser tells every new document where the mouse is: such an event is no move.
  const used = ({ type, movementX, movementY }) => {
    if (type !== "pointermove" || movementX !== 0 || movementY !== 0) begin();
  };
  const soon = () => {
    if (TAKES_PICTURES) meetFirst();
    requestIdleCallback(tell);
    setTimeout(() => requestIdleCallback(begin, { timeout: ${IDLE_MS} }), ${SETTLE_MS});
  };
  const listen = () => {
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", soon, { once: true });
    else soon();
    addEventListener("pagehide", leave, true);
    addEventListener("visibilitychange", push, true);
    for (const use of uses) addEventListener(use, used, { capture: true, passive: true });
  };
  const ready = () => {
    for (const use of uses) removeEventListener(use, used, true);
  };
  /** Puts what nobody can ask for later among the lines. */
  const finish = () => {
    if (stop) return catchUp();
    if (!document.documentElement || (isTold && eye.takeRecords().length === 0)) return;
    if (hasHidden) return begin();
    try {
      takeStill();
      isTold &&= isPlain;
    } catch {
      begin();
    }
  };
  let takenAt = Number.NEGATIVE_INFINITY;
  const leave = () => {
    // Somebody has just asked, because the document goes.
    if (stop || performance.now() - takenAt > ${TAKEN_MS}) finish();
    push();
  };
  const again = () => {
    stop?.();
    stop = null;
    rrweb = null;
    isTold = false;
    forgetPictures();
    listen();
  };
  const takeNow = () => {
    finish();
    takenAt = performance.now();
    return join();
  };
  const take = (ms) => (ms === 0 || pictured.size === 0 || document.hidden ? takeNow() : lookLast(ms).then(takeNow));`;

/** Elements of which the mask `all` leaves the size. */
const BLOCKED = ["img", "picture", "video", "audio", "svg", "canvas", "object", "embed"];

const masks = (mask: RecordingMask | null): string => `
  const maskInput = (text, element) => ${mask === null ? "(isSecret(element) || hides(element, text) ? hidden(text) : text)" : "hidden(text)"};
  const MASKS_ALL = ${mask === "all"};
  const TAKES_PICTURES = ${mask === null};
  const BLOCKED = new Set(${JSON.stringify(mask === "all" ? BLOCKED : [])});`;

/**
 * The script that records a document, for an isolated world: what a page makes of JSON, Promise or MutationObserver is not
 * there. `binding`: the name of the function that takes lines. A frame that its parent can look into is left to its parent.
 */
export function pageScript(rrweb: string, binding: string, mask: RecordingMask | null): string {
  return `(() => {
  if (globalThis.${RECORDER}) return;
  try {
    if (window !== window.top && window.parent.document) return;
  } catch {}
  // An element with this id would pass for a library, for whose sake rrweb adds a frame to the page.
  globalThis.Zone = undefined;
  const BINDING = ${JSON.stringify(binding)};
  const silent = new Proxy({}, { get: () => () => {} });
  // An isolated world has no registry: rrweb would throw and catch an error for each element, most of a snapshot's time.
  const registry = { get: (name) => name.includes("-") };
  const load = function (exports, module, define, console, customElements) {${rrweb}};
  const hidden = (text) => (text ? "********" : "");
  ${SECRETS}
  ${HIDING_SCRIPT}
  ${masks(mask)}
  ${BUFFER}
  ${STILL_SCRIPT}
  ${PICTURES_SCRIPT}
  ${BEGIN}
  ${LISTEN}
  globalThis.${RECORDER} = { take, again, hide, show, screenGiven };
  listen();
})()`;
}
