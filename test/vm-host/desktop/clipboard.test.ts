import { CLIPBOARD_BYTES } from "@svc/contract/control-channel/computer-methods.ts";
import type { ExecResult } from "@svc/contract/vm/exec.ts";
import { expect, test } from "vitest";
import { readClipboard, writeClipboard } from "../../../vm-host/desktop/clipboard.ts";

const FULL = "x".repeat(CLIPBOARD_BYTES);
const { signal } = new AbortController();

/** A desktop whose programs end so. */
const desktop = (result: Partial<ExecResult>) => ({
  exec: async () => ({ exitCode: 0, stdout: "", stderr: "", ...result }),
});

test.each([
  ["nothing", { stderr: "Error: target STRING not available\n" }, ""],
  ["text", { stdout: "a\n🙂" }, "a\n🙂"],
  ["as much text as it may have", { stdout: FULL }, FULL],
])("a clipboard with %s is read", async (_name, result, text) => {
  expect((await readClipboard(desktop(result), signal)) === text).toBe(true);
});

test.each([
  ["too much text", { stdout: "ß".repeat(CLIPBOARD_BYTES / 2 + 1) }, "TooLarge"],
  ["text without an end", { truncated: true as const, stdout: "x" }, "TooLarge"],
  ["an owner that does not answer", { exitCode: 124, timedOut: true as const }, "Disconnected"],
  ["no program that reads it", { stderr: "sh: 2: xclip: not found\n" }, "Disconnected"],
])("a clipboard with %s is refused", async (_name, result, code) => {
  await expect(readClipboard(desktop(result), signal)).rejects.toMatchObject({ data: { code } });
});

test.each([
  ["more than the clipboard takes", "x".repeat(CLIPBOARD_BYTES + 1), { code: "TooLarge" }],
  ["half of a character", "a\ud800", { field: "text" }],
])("a text of %s is refused before the machine is asked", async (_name, text, data) => {
  const untouched = { files: null as never };
  await expect(writeClipboard(untouched, text, signal)).rejects.toMatchObject({ data });
});
