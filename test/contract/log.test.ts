import { expect, test, vi } from "vitest";
import { logLine, logOf } from "@svc/contract/log.ts";

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
