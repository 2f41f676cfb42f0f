import { expect, test, vi } from "vitest";
import { logLine, logOf, withoutCapabilities } from "@svc/contract/log.ts";
import { mintObjectToken, mintSessionId } from "@svc/contract/tokens.ts";
import { SIGNING_SECRET } from "../support/secrets.ts";

test("a log line says when, how grave, who and what, and an error by its text", () => {
  const reason = new TypeError("no such table");
  const now = new Date(1_000);
  expect(logLine("error", "src", "store_failed", { requestId: "r", reason }, now)).toEqual({
    time: "1970-01-01T00:00:01.000Z",
    level: "error",
    room: "src",
    event: "store_failed",
    requestId: "r",
    reason: "TypeError: no such table",
  });
});

test("the log of a room writes one line of JSON for each event", () => {
  const written = vi.spyOn(console, "info").mockImplementation(() => undefined);
  logOf("control-plane").info("reaped", { objects: 2, skipped: undefined });
  const lines = written.mock.calls.map(([text]) => String(text));
  written.mockRestore();
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    level: "info",
    room: "control-plane",
    event: "reaped",
    objects: 2,
  });
});

test("a token or a key that an error quotes does not reach the log", async () => {
  const written = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const id = await mintSessionId(SIGNING_SECRET, { org: "org_1", issuedAt: 1 });
  const claims = { act: "put", key: "k", bytes: 1, expiresAt: 1 } as const;
  const token = await mintObjectToken(SIGNING_SECRET, claims);
  const key = `svc_live_${"a".repeat(12)}_${"b".repeat(40)}`;
  const reason = new TypeError(`fetch of ws://h/ws/${id}, http://h/objects/${token}?a=1 by ${key}`);
  logOf("src").error("bug", { reason });
  const [text] = written.mock.calls.map(([line]) => String(line));
  written.mockRestore();
  expect(text).toContain("fetch of ws://h/ws/***, http://h/objects/***?a=1 by svc_live_***");
});

test.each(["a.ts", `${"f".repeat(64)}.json`, "2026-11-29T01:10:34.900Z", `x.${"a".repeat(64)}`])(
  "what is no token stays: %s",
  (text) => expect(withoutCapabilities(text)).toBe(text),
);
