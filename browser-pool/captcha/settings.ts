import { optionalSetting, setting } from "@svc/host-kit/settings.ts";
import * as z from "zod";
import { PROVIDERS, type ProviderName, urlOf } from "./dialects.ts";

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** The environment variables of captcha solving. */
export const CAPTCHA_SETTINGS = {
  captchaKey: optionalSetting({
    name: "SVC_CAPTCHA_KEY",
    defaultMeaning: "captchas are not solved",
    meaning: "The key of the account at the captcha provider.",
    schema: z.string().regex(/^[\x21-\x7e]{1,512}$/, "write the key alone"),
  }),
  captchaProvider: setting({
    name: "SVC_CAPTCHA_PROVIDER",
    default: PROVIDERS[0],
    meaning: "The captcha provider: `2captcha` or `capsolver`.",
    schema: z.enum(PROVIDERS, `write ${PROVIDERS.join(" or ")}`),
  }),
  captchaUrl: optionalSetting({
    name: "SVC_CAPTCHA_URL",
    defaultMeaning: PROVIDERS.map((name) => `${urlOf(name)} for ${name}`).join(", "),
    meaning:
      "Where the API of the captcha provider is, for another provider with the same dialect. https, or http on this computer.",
    schema: z.string().transform((text, issues) => {
      const url = URL.canParse(text) ? new URL(text) : null;
      // The key goes there.
      if (url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.test(url.hostname)))
        return url.href;
      issues.addIssue({ code: "custom", message: "write an https URL" });
      return z.NEVER;
    }),
  }),
};

/** The account at a provider; null when none is configured. */
export function accountOf(values: {
  captchaKey: string | null;
  captchaProvider: ProviderName;
  captchaUrl: string | null;
}): { name: ProviderName; url: string; key: string } | null {
  const { captchaKey: key, captchaProvider: name, captchaUrl } = values;
  return key === null ? null : { name, key, url: captchaUrl ?? urlOf(name) };
}
