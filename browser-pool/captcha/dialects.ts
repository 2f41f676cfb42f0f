import type { CaptchaKind, Challenge } from "./challenge.ts";

export const PROVIDERS = ["2captcha", "capsolver"] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** The words in which providers differ. */
interface Dialect {
  url: string;
  types: Record<CaptchaKind, string>;
  /** The fields of Turnstile's `action` and `data`. */
  bound: (action: string | null, data: string | null) => object;
}

const DIALECTS: Record<ProviderName, Dialect> = {
  "2captcha": {
    url: "https://api.2captcha.com",
    types: {
      recaptcha: "RecaptchaV2TaskProxyless",
      hcaptcha: "HCaptchaTaskProxyless",
      turnstile: "TurnstileTaskProxyless",
    },
    bound: (action, data) => ({ ...(action && { action }), ...(data && { data }) }),
  },
  capsolver: {
    url: "https://api.capsolver.com",
    types: {
      recaptcha: "ReCaptchaV2TaskProxyLess",
      hcaptcha: "HCaptchaTaskProxyLess",
      turnstile: "AntiTurnstileTaskProxyLess",
    },
    bound: (action, data) =>
      action || data
        ? { metadata: { ...(action && { action }), ...(data && { cdata: data }) } }
        : {},
  },
};

export const urlOf = (provider: ProviderName): string => DIALECTS[provider].url;

/** The task of a challenge, as a provider takes it. */
export function taskOf(provider: ProviderName, challenge: Challenge): object {
  const { kind, siteKey, url, isInvisible, action, data } = challenge;
  const { types, bound } = DIALECTS[provider];
  return {
    type: types[kind],
    websiteURL: url,
    websiteKey: siteKey,
    ...(isInvisible && kind !== "turnstile" && { isInvisible }),
    ...(kind === "turnstile" && bound(action, data)),
  };
}

/** By these a provider says that it takes no task of this key: the key is wrong or blocked, or has no money left. */
const OF_KEY = new Set([
  "ERROR_KEY_DOES_NOT_EXIST",
  "ERROR_WRONG_USER_KEY",
  "ERROR_KEY_DENIED_ACCESS",
  "ERROR_KEY_TEMP_BLOCKED",
  "ERROR_ZERO_BALANCE",
  "ERROR_IP_NOT_ALLOWED",
  "ERROR_IP_BLOCKED",
  "IP_BANNED",
  "ERROR_IP_BANNED",
  "ERROR_ACCOUNT_SUSPENDED",
]);

/** By these a provider says that this task will not be solved, however often it is asked for. */
const OF_TASK = new Set([
  "ERROR_TASK_NOT_SUPPORTED",
  "ERROR_TASK_ABSENT",
  "ERROR_NO_SUCH_METHOD",
  "ERROR_METHOD_CALL",
  "ERROR_INVALID_TASK_DATA",
  "ERROR_BAD_PARAMETERS",
  "ERROR_PAGEURL",
  "ERROR_GOOGLEKEY",
  "ERROR_WRONG_GOOGLEKEY",
  "ERROR_SITEKEY",
  "ERROR_DOMAIN_NOT_ALLOWED",
  "ERROR_TOKEN_EXPIRED",
]);

/** The thing that an error code blames: the key, the task, or this try alone. */
export function blameOf(code: string): "key" | "task" | "try" {
  if (OF_KEY.has(code)) return "key";
  return OF_TASK.has(code) ? "task" : "try";
}
