import type { CdpSession } from "@svc/sdk/cdp.ts";
import { within } from "@svc/sdk/http/deadline.ts";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LoginPage } from "../../../src/logins/login-page.ts";

const SECOND = 1_000;
const ANSWERS: Record<string, object> = {
  "Page.getFrameTree": { frameTree: { frame: { id: "frame" } } },
  "Page.createIsolatedWorld": { executionContextId: 1 },
  "Runtime.evaluate": { result: { value: 0 } },
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The page of a browser each of whose answers takes so long; like the sdk's, it waits 30 s unless it is told otherwise. */
function slowPage(ms: number): LoginPage {
  const send: CdpSession["send"] = (method, _params, options) =>
    within(
      { timeoutMs: 30 * SECOND, ...options },
      () => new Promise((resolve) => setTimeout(() => resolve({ ...ANSWERS[method] }), ms)),
    );
  const form = { steps: {}, allowedHosts: ["a.test"], checkSelector: undefined };
  return new LoginPage({ send }, form, new AbortController().signal);
}

/** The result of work, and how long it took. */
async function timed<T>(work: Promise<T>): Promise<{ result: T; ms: number }> {
  const begun = Date.now();
  const timing = work.then((result) => ({ result, ms: Date.now() - begun }));
  timing.catch(() => {});
  await vi.advanceTimersByTimeAsync(120 * SECOND);
  return timing;
}

test("a site that is slow to answer is waited for as long as the run lasts", async () => {
  const opening = slowPage(40 * SECOND).open("https://a.test/");
  expect(await timed(opening)).toEqual({ result: null, ms: 80 * SECOND });
});

test("a page that is slow in each answer is given up after 2 s, and left", async () => {
  const { result, ms } = await timed(slowPage(1.9 * SECOND).clear());
  expect(result).toBe(true);
  expect(ms).toBeLessThanOrEqual(4 * SECOND);
});

test("a page that answers nothing cannot be cleared, which is known after 4 s", async () => {
  const { result, ms } = await timed(slowPage(100 * SECOND).clear());
  expect(result).toBe(false);
  expect(ms).toBeLessThanOrEqual(4 * SECOND);
});
