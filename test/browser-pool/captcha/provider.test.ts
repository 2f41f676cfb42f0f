import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { readSettings } from "@svc/host-kit/settings.ts";
import { pino } from "pino";
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { CAPTCHA_LIMITS } from "../../../browser-pool/captcha/budget.ts";
import type { Challenge } from "../../../browser-pool/captcha/challenge.ts";
import { type ProviderName, taskOf } from "../../../browser-pool/captcha/dialects.ts";
import { CaptchaProvider } from "../../../browser-pool/captcha/provider.ts";
import { CAPTCHA_SETTINGS, accountOf } from "../../../browser-pool/captcha/settings.ts";
import { ProviderDouble, tokenOf } from "./provider-double.ts";

const NEVER = new AbortController().signal;
const challenge: Challenge = {
  kind: "turnstile",
  siteKey: "0x4AAA",
  url: "https://a.example/",
  isInvisible: false,
  action: "login",
  data: "c",
};
const asked = { websiteURL: "https://a.example/", websiteKey: "0x4AAA" };

describe("a task", () => {
  test.each([
    ["2captcha", "turnstile", "TurnstileTaskProxyless", { action: "login", data: "c" }],
    ["2captcha", "recaptcha", "RecaptchaV2TaskProxyless", { isInvisible: true }],
    ["2captcha", "hcaptcha", "HCaptchaTaskProxyless", { isInvisible: true }],
    [
      "capsolver",
      "turnstile",
      "AntiTurnstileTaskProxyLess",
      { metadata: { action: "login", cdata: "c" } },
    ],
    ["capsolver", "recaptcha", "ReCaptchaV2TaskProxyLess", { isInvisible: true }],
    ["capsolver", "hcaptcha", "HCaptchaTaskProxyLess", { isInvisible: true }],
  ] as const)("of %s for a %s is as its documents say", (name, kind, type, more) => {
    const task = taskOf(name, { ...challenge, kind, isInvisible: true });
    expect(task).toEqual({ type, ...asked, ...more });
  });
});

describe("settings", () => {
  const read = (env: Record<string, string>) => accountOf(readSettings(CAPTCHA_SETTINGS, env));

  test("without a key have no account", () => expect(read({})).toBeNull());

  test("name the provider's own address unless another is given", () => {
    expect(read({ SVC_CAPTCHA_KEY: "k" })).toMatchObject({ url: "https://api.2captcha.com" });
    const other = { SVC_CAPTCHA_KEY: "k", SVC_CAPTCHA_PROVIDER: "capsolver" };
    expect(read(other)).toMatchObject({ name: "capsolver", url: "https://api.capsolver.com" });
    const own = { SVC_CAPTCHA_KEY: "k", SVC_CAPTCHA_URL: "http://127.0.0.1:9/x" };
    expect(read(own)).toMatchObject({ url: "http://127.0.0.1:9/x" });
  });

  test.each([
    { SVC_CAPTCHA_PROVIDER: "acme" },
    { SVC_CAPTCHA_KEY: "secret key" },
    { SVC_CAPTCHA_KEY: "secret", SVC_CAPTCHA_URL: "http://secret.example/" },
    { SVC_CAPTCHA_URL: "secret" },
  ])("of %j are refused without their values", (env) => {
    expect(() => read(env)).toThrow(/SVC_CAPTCHA_/);
    expect(() => read(env)).not.toThrow(/secret/);
  });
});

describe("a provider", () => {
  let double: ProviderDouble;
  let log: string[];

  beforeAll(async () => void (double = await new ProviderDouble().start()));
  afterAll(() => double.stop());
  beforeEach(() => {
    double.clear();
    log = [];
  });

  const account = (key = double.key, name: ProviderName = "2captcha", url = double.url) =>
    new CaptchaProvider({
      name,
      url,
      key,
      // Short where nothing answers: an answer may take its time on a busy computer.
      callMs: double.fault === "mute" ? 1_000 : CAPTCHA_LIMITS.callMs,
      log: pino({ messageKey: "event" }, { write: (line) => void log.push(line) }),
    });

  test.each(["2captcha", "capsolver"] as const)(
    "of the dialect of %s gives a token",
    async (name) => {
      const token = await account(double.key, name).solve(challenge, NEVER);
      expect(token).toBe(tokenOf(double.tasks[0] as never));
      expect(double.calls).toEqual(["createTask", "getTaskResult", "getTaskResult"]);
    },
  );

  test("that loses a question about a paid task is asked again", async () => {
    double.lostResults = 2;
    expect(await account().solve(challenge, NEVER)).toMatch(/^TOKEN/);
    expect(double.tasks).toHaveLength(1);
  });

  test.each([
    ["mute", "the provider does not answer in time", false],
    ["garbage", "the provider answers something else", false],
    ["endless", "the provider's answer does not end", false],
    ["lost", "the provider is not reached", false],
    ["odd token", "the provider's solution is no token", false],
    ["ERROR_CAPTCHA_UNSOLVABLE", "ERROR_CAPTCHA_UNSOLVABLE", false],
    ["ERROR_TASK_NOT_SUPPORTED", "ERROR_TASK_NOT_SUPPORTED", true],
    [`ERROR_<b>of a page</b>`, "an error without a code", false],
  ])("that fails by %s says why", async (fault, message, isFinal) => {
    double.fault = fault;
    await expect(account().solve(challenge, NEVER)).rejects.toMatchObject({ message, isFinal });
  });

  test("that does not know the key is left alone for a while, and the log says so without the key", async () => {
    const wrong = account("secret-key");
    expect(wrong.isAtWork).toBe(true);
    const refused = { message: "ERROR_KEY_DOES_NOT_EXIST", isFinal: true };
    await expect(wrong.solve(challenge, NEVER)).rejects.toMatchObject(refused);
    expect(wrong.isAtWork).toBe(false);
    await expect(wrong.solve(challenge, NEVER)).rejects.toMatchObject({ isFinal: true });
    expect(double.calls).toHaveLength(1);
    expect(log.join()).toMatch(/captcha_provider_refuses/);
    expect(log.join()).not.toContain("secret-key");
  });

  test("says before any task that it does not take the key, and later that it does", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const mine = account();
    double.fault = "ERROR_ZERO_BALANCE";
    await mine.check();
    expect([mine.isAtWork, double.calls]).toEqual([false, ["getBalance"]]);
    double.fault = null;
    vi.runOnlyPendingTimers();
    await vi.waitUntil(() => mine.isAtWork, { timeout: 60_000 });
    expect(double.calls).toEqual(["getBalance", "getBalance"]);
    expect(log).toHaveLength(1);
  });

  test.each(["mute", "garbage", "ERROR_NO_SUCH_METHOD"])(
    "that is %s when it is asked for the balance is taken to be at work",
    async (fault) => {
      double.fault = fault;
      const mine = account();
      await mine.check();
      expect(mine.isAtWork).toBe(true);
    },
  );

  test("that leads elsewhere is not followed", async () => {
    const other = createServer((_, response) => {
      response.writeHead(307, { location: `${double.url}/createTask` }).end();
    });
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const moved = account(double.key, "2captcha", url).solve(challenge, NEVER);
    await expect(moved).rejects.toThrow("the provider is not reached");
    expect(double.calls).toEqual([]);
    other.closeAllConnections();
    other.close();
  });

  test("is left at once when nobody wants the token any more", async () => {
    double.fault = "mute result";
    const gone = new AbortController();
    const solving = account().solve(challenge, gone.signal);
    await expect.poll(() => double.calls).toContain("getTaskResult");
    gone.abort();
    await expect(solving).rejects.toThrow(/abort/i);
    await expect.poll(() => double.left).toBe(1);
  });
});
