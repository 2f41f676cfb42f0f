import { expect, test } from "vitest";
import type { Seen } from "../../../src/logins/form-script.ts";
import { nextOf } from "../../../src/logins/run.ts";

const NONE = { username: false, password: false, code: false };
const seen = (facts: Partial<Seen> & { has?: Partial<Seen["fields"]> } = {}): Seen => ({
  url: "https://a.test/in",
  title: "",
  document: 1,
  isLoaded: true,
  isChecked: null,
  hasCaptcha: false,
  frameHosts: [],
  ...facts,
  fields: { ...NONE, ...facts.has },
});
const both = { username: true, password: true };
const SECOND = 1_000;

type Sent = { username?: number; password?: number; code?: number };

function next(
  page: Seen,
  { sent = {}, after = 0, goneFor = null as number | null, force = false, login = {} } = {} as {
    sent?: Sent;
    after?: number;
    goneFor?: number | null;
    force?: boolean;
    login?: { checkUrl?: string; totp?: string | null };
  },
) {
  const now = 100 * SECOND;
  const goneAt = goneFor === null ? null : now - goneFor;
  return nextOf(
    page,
    { totp: null, ...login },
    { sent, actedAt: now - after, goneAt },
    { force, now },
  );
}

const checked = { login: { checkUrl: "https://a.test/home" } };
const home = { url: "https://a.test/home" };

test.each([
  [
    "a form of one page is filled and sent",
    seen({ has: both }),
    {},
    { type: ["username", "password"] },
  ],
  [
    "a form that asks who first is sent by itself",
    seen({ has: { username: true } }),
    {},
    { type: ["username"] },
  ],
  [
    "the second page is given the password",
    seen({ has: { password: true }, document: 2 }),
    { sent: { username: 1 } },
    { type: ["password"] },
  ],
  [
    "a name that was sent is not typed again",
    seen({ has: both }),
    { sent: { username: 1 } },
    { type: ["password"] },
  ],
  [
    "a page on its way is waited for",
    seen({ has: both }),
    { sent: { username: 1, password: 1 } },
    { wait: true },
  ],
  [
    "a new document that asks again has refused",
    seen({ has: both, document: 2 }),
    { sent: { password: 1 } },
    { end: { status: "failed", reason: "credentials" } },
  ],
  [
    "so has one that asks for long",
    seen({ has: both }),
    { sent: { password: 1 }, after: 9 * SECOND },
    { end: { status: "failed", reason: "credentials" } },
  ],
  [
    "unless it shows a captcha",
    seen({ has: both, document: 2, hasCaptcha: true }),
    { sent: { password: 1 } },
    { end: { status: "needs_human", reason: "captcha" } },
  ],
  [
    "the check ends it",
    seen(home),
    { sent: { password: 1 }, ...checked },
    { end: { status: "logged_in" } },
  ],
  ["the check ends it at once", seen(home), checked, { end: { status: "already_logged_in" } }],
  [
    "unless a login is wanted anyway",
    seen({ ...home, has: both }),
    { force: true, ...checked },
    { type: ["username", "password"] },
  ],
  [
    "a check by URL and by element wants both",
    seen({ ...home, isChecked: false }),
    { ...checked, sent: { password: 1 } },
    { wait: true },
  ],
  [
    "without a check the password's going does, once nothing comes after it",
    seen(),
    { sent: { password: 1 }, goneFor: 2 * SECOND },
    { end: { status: "logged_in" } },
  ],
  ["and not before", seen(), { sent: { password: 1 }, goneFor: 0 }, { wait: true }],
  [
    "a code is typed",
    seen({ has: { code: true } }),
    { sent: { password: 1 }, login: { totp: "A" } },
    { type: ["code"] },
  ],
  [
    "a code without a secret needs somebody",
    seen({ has: { code: true } }),
    { sent: { password: 1 } },
    { end: { status: "needs_human", reason: "second_factor" } },
  ],
  [
    "a code that was refused",
    seen({ has: { code: true }, document: 3 }),
    { sent: { code: 2 }, login: { totp: "A" } },
    { end: { status: "failed", reason: "credentials" } },
  ],
  [
    "another second factor needs somebody",
    seen(),
    { sent: { password: 1 }, after: 9 * SECOND, ...checked },
    { end: { status: "needs_human", reason: "second_factor" } },
  ],
  [
    "a captcha needs somebody",
    seen({ hasCaptcha: true }),
    {},
    { end: { status: "needs_human", reason: "captcha" } },
  ],
  ["no form is waited for", seen(), {}, { wait: true }],
  [
    "and not for ever",
    seen(),
    { after: 9 * SECOND },
    { end: { status: "needs_human", reason: "no_form" } },
  ],
  [
    "a frame may have it",
    seen({ frameHosts: ["b.test"] }),
    { after: 9 * SECOND },
    { end: { status: "needs_human", reason: "form_in_frame" } },
  ],
  [
    "a name that leads nowhere was refused",
    seen({ has: { username: true } }),
    { sent: { username: 1 }, after: 9 * SECOND },
    { end: { status: "failed", reason: "credentials" } },
  ],
] as [string, Seen, Parameters<typeof next>[1], object][])("%s", (_name, page, facts, expected) => {
  expect(next(page, facts)).toEqual(expected);
});
