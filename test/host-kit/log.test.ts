import { spawnSync } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { readable } from "@svc/host-kit/log-line.ts";
import { lineOf } from "../../scripts/gateway-log.ts";

const time = new Date(2026, 10, 28, 21, 18, 3).toISOString();
const line = { time, level: "info", room: "vm-host", event: "machine_resumed" } as const;
const KEY = `svc_live_${"a".repeat(12)}_${"b".repeat(40)}`;

test.each([
  ["an event is said in words", {}, ""],
  [
    "fields are name=value",
    { machine: "m-1", tookMs: 12, isHeld: false },
    " machine=m-1 tookMs=12 isHeld=false",
  ],
  ["a value with a space is quoted", { reason: 'no "room"' }, ' reason="no \\"room\\""'],
  ["an empty value is quoted", { reason: "" }, ' reason=""'],
  ["fields of fields have both names", { accelerator: { name: "tcg" } }, " accelerator.name=tcg"],
  ["a list is numbered", { paths: ["a", "b"] }, " paths.0=a paths.1=b"],
  ["a secret inside of a field is hidden", { host: { key: "def" } }, " host.key=***"],
  ["null and false are values", { org: null, isHeld: false }, " org=null isHeld=false"],
  ["a field without a value is left out", { org: undefined }, ""],
  ["a request that went well needs no id", { requestId: "r-1", status: 200 }, " status=200"],
  ["a long value is cut", { text: "x".repeat(300) }, ` text=${"x".repeat(200)}…`],
  ["a line break stays in its line", { text: "a\nb\r" }, " text=a\\nb\\u{d}"],
  [
    "an escape sequence is shown, not obeyed",
    { text: "\x1b[2J\x9b2J" },
    " text=\\u{1b}[2J\\u{9b}2J",
  ],
  ["text that would run backwards is shown", { text: "a\u202eb" }, " text=a\\u{202e}b"],
  [
    "an emoji that the cut halves is no character",
    { text: `${"x".repeat(199)}😀` },
    ` text=${"x".repeat(199)}\\u{d83d}…`,
  ],
  ["a name of a field is escaped too", { "a\x1b": 1 }, " a\\u{1b}=1"],
  ["a secret by its name is hidden", { hostToken: "abc", key: "def" }, " hostToken=*** key=***"],
  ["an API key is hidden wherever it stands", { text: `for_${KEY}` }, " text=for_svc_live_***"],
])("at a terminal %s", (_name, fields, shown) => {
  expect(readable({ ...line, ...fields }, false)).toBe(
    `21:18:03 vm-host      machine resumed${shown}`,
  );
});

test.each([
  ["warn", "WARN "],
  ["error", "ERROR "],
  ["info", ""],
  ["debug", ""],
] as const)("at a terminal the level %s is seen", (level, shown) => {
  expect(readable({ ...line, level }, false)).toBe(`21:18:03 vm-host      ${shown}machine resumed`);
});

test("a fault keeps its request id and more of its reason", () => {
  const fault = { ...line, level: "error", requestId: "r-1", reason: "y".repeat(900) } as const;
  expect(readable(fault, false)).toContain(` requestId=r-1 reason=${"y".repeat(900)}`);
});

test("colour stands around the words, never in them", () => {
  const coloured = readable({ ...line, level: "warn", machine: "m-1" }, true);
  expect(coloured).toContain("\x1b[33mWARN machine resumed\x1b[0m");
  expect(stripVTControlCharacters(coloured)).toBe(
    "21:18:03 vm-host      WARN machine resumed machine=m-1",
  );
});

test("a line without a time is still a line", () => {
  expect(readable({ ...line, time: "" }, false)).toBe("--:--:-- vm-host      machine resumed");
});

test("what is no terminal gets JSON: time, level as a word, room, event, fields", () => {
  const program = `import { createLog } from "@svc/host-kit/log.ts";
    createLog("vm-host").warn({ reason: "no room" }, "machine_refused");`;
  const args = ["--input-type=module", "-e", program];
  const { stderr, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(stdout).toBe("");
  const { time: at, ...rest } = JSON.parse(stderr);
  expect(rest).toEqual({
    level: "warn",
    room: "vm-host",
    event: "machine_refused",
    reason: "no room",
  });
  expect(new Date(at).toISOString()).toBe(at);
});

test("a host's line has no token and no key, whoever quotes them", () => {
  const program = `import { createLog } from "@svc/host-kit/log.ts";
    const token = "${"p".repeat(40)}.${"m".repeat(43)}";
    createLog("vm-host").warn({ reason: "no /objects/" + token, key: "${KEY}" }, "not_stored");`;
  const args = ["--input-type=module", "-e", program];
  const { stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(JSON.parse(stderr)).toMatchObject({ reason: "no /objects/***", key: "svc_live_***" });
});

test("a line of the Worker's log is passed on to the byte", () => {
  const message = '{"level":"info", "event":"request"}';
  expect(lineOf({ timestamp: 0, level: "log", message })).toBe(message);
});

test.each(["Uncaught Error: x\n  at y", "{broken", '{"a":1}', "null"])(
  "what workerd says by itself becomes a line of the gateway's log: %s",
  (message) => {
    const timestamp = Date.parse(time);
    expect(JSON.parse(lineOf({ timestamp, level: "log", message }))).toEqual({
      level: "info",
      time,
      room: "gateway",
      event: "runtime_output",
      text: message,
    });
  },
);
