/** The kinds of captchas that a provider is asked to solve. */
export const CAPTCHA_KINDS = ["recaptcha", "hcaptcha", "turnstile"] as const;
export type CaptchaKind = (typeof CAPTCHA_KINDS)[number];

/** A captcha as a provider is asked for it. */
export interface Challenge {
  kind: CaptchaKind;
  siteKey: string;
  /** Of the document that shows it: origin and path alone, a query may hold secrets of the session. */
  url: string;
  isInvisible: boolean;
  /** Of Turnstile: what the page binds the token to. */
  action: string | null;
  data: string | null;
}
