import { describe, expect, test } from "vitest";
import { chordOf, keysymOf } from "../../../vm-host/screen/keysyms.ts";

test.each([
  ["a", 0x61],
  ["ñ", 0xf1],
  ["€", 0x0100_20ac],
  ["漢", 0x0100_6f22],
  ["🙂", 0x0101_f642],
  ["\n", 0xff0d],
])("the key of %j is %i", (character, keysym) => expect(keysymOf(character)).toBe(keysym));

describe("a chord", () => {
  test.each([
    ["Return", [0xff0d]],
    ["ctrl+shift+t", [0xffe3, 0xffe1, 0x74]],
    ["Control_L+Page_Down", [0xffe3, 0xff56]],
    ["+", [0x2b]],
    ["ctrl++", [0xffe3, 0x2b]],
    ["F12", [0xffc9]],
  ])("%s is its keys in order", (chord, keys) => expect(chordOf(chord)).toEqual(keys));

  test.each(["ctrl+", "Retrun", "a+bc"])("%j is none", (chord) =>
    expect(() => chordOf(chord)).toThrow(/There is no key/),
  );
});
