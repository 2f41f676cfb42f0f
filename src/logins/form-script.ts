import type { LoginSteps } from "@svc/contract/browser/login.ts";

/** The name of a field of a login. */
export type Field = "username" | "password" | "code";

/** The state of a page, as far as a login needs it. */
export interface Seen {
  url: string;
  title: string;
  /** The time at which the document began, by which documents are told apart. */
  document: number;
  isLoaded: boolean;
  /** Whether the page has each field, for people to see. */
  fields: Record<Field, boolean>;
  /** Whether `checkSelector` is seen, as only those who are signed in see it; null: the login has none. */
  isChecked: boolean | null;
  hasCaptcha: boolean;
  /** Hosts of frames that are large enough to hold a form. */
  frameHosts: string[];
}

/**
 * The functions by which a page is looked at, as text: the functions run in a world of their own, where nothing of the page's
 * programs reaches. A field is found by its selector in `steps`, or by its type, name and `autocomplete`.
 */
const COMMON = (steps: LoginSteps): string => `
  const steps = ${JSON.stringify(steps)};
  const isSeen = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return width > 1 && height > 1 && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };
  const chosen = (selector) => {
    try {
      return [...document.querySelectorAll(selector)].filter((e) => isSeen(e) && !e.disabled && !e.readOnly);
    } catch {
      return [];
    }
  };
  const has = (input, ...words) => input.autocomplete.split(" ").some((word) => words.includes(word));
  const texts = () => chosen("input").filter(({ type }) => ["text", "email", "tel", "number", "password", ""].includes(type));
  const find = {
    password: () => chosen("input[type=password]").filter((input) => !has(input, "one-time-code"))[0],
    code: () => texts().filter((input) => has(input, "one-time-code"))[0],
    username: () => {
      const all = texts().filter((input) => input.type !== "password" && !has(input, "one-time-code"));
      const named = all.filter((input) => has(input, "username", "email")
        || input.type === "email" || /user|login|e-?mail|account/i.test(input.name + " " + input.id));
      const password = find.password();
      const before = password && all.filter((input) =>
        input.form === password.form && input.compareDocumentPosition(password) & Node.DOCUMENT_POSITION_FOLLOWING);
      return named[0] ?? before?.at(-1);
    },
  };
  const field = (name) => steps[name] ? chosen(steps[name])[0] : find[name]();
  const filled = globalThis[Symbol.for("filled")] ??= new Set();
`;

const inPage = (steps: LoginSteps, body: string): string => `(() => {${COMMON(steps)}${body}})()`;

/** Tells what the page shows. */
export const lookScript = (steps: LoginSteps, checkSelector: string | undefined): string =>
  inPage(
    steps,
    `
  const check = ${JSON.stringify(checkSelector ?? null)};
  const frames = [...document.querySelectorAll("iframe")].filter(isSeen).filter((frame) => {
    const { width, height } = frame.getBoundingClientRect();
    return width >= 150 && height >= 100 && /^https?:/.test(frame.src);
  });
  const captcha = '.g-recaptcha, .h-captcha, .cf-turnstile, [data-sitekey], iframe[src*="recaptcha"], iframe[src*="hcaptcha"], iframe[src*="challenges.cloudflare.com"]';
  return {
    url: location.href,
    title: document.title.slice(0, 256),
    document: performance.timeOrigin,
    isLoaded: document.readyState === "complete",
    fields: { username: !!field("username"), password: !!field("password"), code: !!field("code") },
    isChecked: check === null ? null : chosen(check).length > 0,
    hasCaptcha: [...document.querySelectorAll(captcha)].some(isSeen),
    frameHosts: frames.map((frame) => new URL(frame.src).hostname),
  };`,
  );

/** Finds a field, as an element of its document; null: there is none. */
export const findScript = (steps: LoginSteps, name: Field): string =>
  inPage(steps, `return field(${JSON.stringify(name)}) ?? null;`);

/** A function of a field: the URL of the document that it is in. */
export const WHERE = "function () { return location.href; }";

/**
 * A function of a field: writes a text into it, all at once, and answers whether it holds it. Programs of the page run in
 * `focus()` and then no more until the whole text is there: what they do as they see it comes too late to lead it elsewhere.
 */
export const fillFunction = (
  steps: LoginSteps,
  name: Field,
): string => `function (text) {${COMMON(steps)}
  this.focus();
  this.select();
  if (field(${JSON.stringify(name)}) !== this || document.activeElement !== this) return false;
  filled.add(this);
  document.execCommand("insertText", false, text);
  return this.value.length === text.length;
}`;

/** The place of the button of a field's form; null: there is none, and Enter is as good. */
export const buttonScript = (steps: LoginSteps, name: Field): string =>
  inPage(
    steps,
    `
  const form = field(${JSON.stringify(name)})?.form;
  const of = (root) => [...root.querySelectorAll("button, input[type=submit]")]
    .filter((b) => isSeen(b) && !b.disabled && (b.type === "submit"));
  const button = steps.submit ? chosen(steps.submit)[0] : form && of(form)[0];
  if (!button) return null;
  button.scrollIntoView({ block: "center", behavior: "instant" });
  const { x, y, width, height } = button.getBoundingClientRect();
  return { x: x + width / 2, y: y + height / 2 };`,
  );

/** Empties whatever a login may have been typed in. Answers how many characters are left. */
export const clearScript = (steps: LoginSteps): string =>
  inPage(
    steps,
    `
  const all = new Set([...filled, ...document.querySelectorAll("input[type=password], input[autocomplete~=one-time-code]"),
    ...["username", "password", "code"].map(field)].filter(Boolean));
  for (const input of all) {
    input.value = "";
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }
  return [...all].reduce((sum, { value }) => sum + value.length, 0);`,
  );
