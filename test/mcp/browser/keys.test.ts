// The names of keys that models use, as the browser wants them.
import { expect, test } from "vitest";
import { chordOf } from "../../../mcp/page/keys.ts";

test.each([
  ["Enter", "Enter", "Enter", 13, []],
  ["return", "Enter", "Enter", 13, []],
  ["PageDown", "PageDown", "PageDown", 34, []],
  ["f5", "F5", "F5", 116, []],
  ["a", "a", "KeyA", 65, []],
  ["A", "A", "KeyA", 65, ["Shift"]],
  ["?", "?", "Slash", 191, ["Shift"]],
  ["7", "7", "Digit7", 55, []],
  ["Control+A", "a", "KeyA", 65, ["Control"]],
  ["ctrl+shift+t", "T", "KeyT", 84, ["Control", "Shift"]],
  ["Control++", "+", "Equal", 187, ["Control", "Shift"]],
  ["+", "+", "Equal", 187, ["Shift"]],
  ["Shift+Tab", "Tab", "Tab", 9, ["Shift"]],
  ["Space", " ", "Space", 32, []],
])("%s is the key %s", (text, key, code, windowsVirtualKeyCode, modifiers) => {
  const chord = chordOf(text);
  expect(chord.key).toMatchObject({ key, code, windowsVirtualKeyCode });
  expect(chord.modifiers).toEqual(modifiers);
});

test.each(["", "Entre", "Control+Entr", "Hyper+A", "aa"])("%j is no key", (text) => {
  expect(() => chordOf(text)).toThrow(expect.objectContaining({ code: "UnknownKey" }));
});

test("what is no key names keys that are near", () => {
  expect(() => chordOf("PgeDown")).toThrow(/Near names: PageDown/);
});
