import { LISTED } from "@svc/contract/control-channel/computer-methods.ts";
import { expect, test } from "vitest";
import { parseWindows } from "../../../vm-host/desktop/windows.ts";

const said = (active: string, ids: string, ...tree: string[]): string =>
  [
    `_NET_ACTIVE_WINDOW: window id # ${active}`,
    `_NET_CLIENT_LIST_STACKING: window id # ${ids}`,
    "",
    'xwininfo: Window id: 0x50b (the root window) "Openbox"',
    ...tree,
  ].join("\n");

test("windows are those of programs, from the lowest to the topmost", () => {
  const text = said(
    "0x1400003",
    "0x1200006, 0x1400003",
    "     0x400e2b (has no name): ()  802x572+239+74  +239+74",
    '        0x1400003 "a \\"b\\": (\\"c\\" \\"d\\")": ("lxterminal" "Lxterminal")  800x548+1+23  +240+97',
    "           0x1400004 (has no name): ()  800x548+0+0  +240+97",
    '     0x1200006 "größe 漢字🙂": ("tint2" "Tint2")  1280x32+0+0  +-5+688',
  );
  expect(parseWindows(text)).toEqual({
    truncated: false,
    windows: [
      {
        id: "0x1200006",
        title: "größe 漢字🙂",
        class: "Tint2",
        x: -5,
        y: 688,
        width: 1280,
        height: 32,
        focused: false,
      },
      {
        id: "0x1400003",
        title: 'a \\"b\\": (\\"c\\" \\"d\\")',
        class: "Lxterminal",
        x: 240,
        y: 97,
        width: 800,
        height: 548,
        focused: true,
      },
    ],
  });
});

test("a title of several lines, or of many characters, hides no window", () => {
  const text = said(
    "0x2",
    "0x1, 0x2",
    '     0x1 "one',
    '0x2 "two": ("a" "b")',
    `${"x".repeat(50_000)}": ("a" "b")  10x20+0+0  +1+2`,
    '     0x2 "other": ("c" "d")  10x20+0+0  +3+4',
  );
  expect(parseWindows(text).windows).toMatchObject([
    { id: "0x1", title: expect.stringMatching(/^one 0x2 "two/), class: "b", x: 1 },
    { id: "0x2", title: "other", class: "d", x: 3, focused: true },
  ]);
});

test("no window has a focus, or is there: nothing is listed", () => {
  expect(parseWindows(said("0x0", ""))).toEqual({ truncated: false, windows: [] });
});

test.each([
  ["nothing", ""],
  ["no text", "\u0000\u0001\u{10ffff}".repeat(1_000)],
  ["lines without an end", said("0x1", "0x1", `0x1 "${"x".repeat(5_000_000)}`)],
  ["lines without number", `${said("0x1", "0x1")}${"\n".repeat(5_000_000)}`],
  ["quotes and brackets without end", said("0x1", "0x1", `0x1 ${'": ("'.repeat(1_000_000)}`)],
  ["a window of no size", said("0x1", "0x1", '0x1 "t": ("a" "b")  axb+0+0  +0+0')],
  ["names that are none", said("0x1; rm -rf /", "$(reboot), 0x111111111, -1")],
])("a desktop that says %s has no windows", (_name, text) => {
  expect(parseWindows(text).windows).toEqual([]);
});

test("a desktop with windows without number is listed in part, and each title is short", () => {
  const ids = Array.from({ length: 10_000 }, (_, at) => `0x${(at + 1).toString(16)}`);
  const tree = ids.map(
    (id) => `${id} "${"🙂".repeat(1_000)}\t": ("a" "b")  99999x1+0+0  +0+-99999`,
  );
  const { windows, truncated } = parseWindows(said("0x1", ids.join(", "), ...tree));
  expect(truncated).toBe(true);
  expect(windows.length).toBe(LISTED.windows);
  // The topmost ones.
  expect(windows.at(-1)).toMatchObject({ id: ids.at(-1), width: 32_767, y: -32_767 });
  for (const { title } of windows) {
    expect(title.length).toBeLessThanOrEqual(LISTED.characters);
    expect(title.isWellFormed()).toBe(true);
  }
});
