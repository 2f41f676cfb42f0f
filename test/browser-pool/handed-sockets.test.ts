import { Socket } from "node:net";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CustomerSockets } from "../../browser-pool/customer-sockets.ts";
import type { Question } from "../../browser-pool/playwrights/messages.ts";
import { HandedSockets } from "../../browser-pool/playwrights/handed-sockets.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function handed() {
  const sockets = new CustomerSockets(() => {});
  const source = { hold: () => {}, release: () => {} };
  const onUntaken = vi.fn<() => void>();
  const asked: Question[] = [];
  const playwright = new HandedSockets(source, (question) => asked.push(question), onUntaken);
  const { id, client } = playwright.add(new Socket(), {
    onTraffic: () => sockets.touch(),
    onEnd: (ended, end) => sockets.remove(ended, end),
  });
  sockets.add(client);
  return { sockets, playwright, id, onUntaken, asked };
}

const counts = ({ opens, closes, lastClose }: CustomerSockets) => [opens, closes, lastClose];

test("a socket that no Playwright takes counts as dropped after its time", () => {
  const { sockets, id, onUntaken, asked } = handed();
  expect(counts(sockets)).toEqual([1, 0, null]);
  vi.runAllTimers();
  expect(onUntaken).toHaveBeenCalledOnce();
  // Should the Playwright take the socket after all, the client is told to come again.
  expect(asked).toMatchObject([{ end: id, code: CLOSE_CODES.restart }]);
  expect(counts(sockets)).toEqual([1, 1, "dropped"]);
});

test("a socket that was taken stays until its end is told", () => {
  const { sockets, playwright, id } = handed();
  playwright.heard(id, "taken");
  vi.runAllTimers();
  expect(counts(sockets)).toEqual([1, 0, null]);
  playwright.heard(id, "clean");
  playwright.heard(id, "dropped");
  expect(counts(sockets)).toEqual([1, 1, "clean"]);
});

test("a socket whose Playwright says that it did not arrive is dropped at once", () => {
  const { sockets, playwright, id } = handed();
  playwright.heard(id, "dropped");
  expect(counts(sockets)).toEqual([1, 1, "dropped"]);
});

test("a socket whose Playwright has gone is dropped, taken or not", () => {
  const { sockets, playwright, id } = handed();
  playwright.heard(id, "taken");
  playwright.close(null);
  expect(counts(sockets)).toEqual([1, 1, "dropped"]);
});
