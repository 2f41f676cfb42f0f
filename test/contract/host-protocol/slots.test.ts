import { wishesMs } from "@svc/contract/host-protocol/slots.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { expect, test } from "vitest";

const { profileLoadMs, exitCheckMs, captchaStartMs, recordingStartMs } = LIMITS;
const none = { profile: false, proxy: false, captcha: false, recording: false };

test.each([
  ["nothing", none, 0],
  ["a profile", { ...none, profile: true }, profileLoadMs],
  ["a proxy", { ...none, proxy: true }, exitCheckMs],
  ["captchas", { ...none, captcha: true }, captchaStartMs],
  ["a recording", { ...none, recording: true }, recordingStartMs],
  [
    "all of them",
    { profile: true, proxy: true, captcha: true, recording: true },
    profileLoadMs + exitCheckMs + captchaStartMs + recordingStartMs,
  ],
])("a placement with %s has the time of that", (_what, has, ms) => expect(wishesMs(has)).toBe(ms));
