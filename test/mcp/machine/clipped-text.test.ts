import { clip, ClippedOutput, ClippedText } from "@svc/mcp/machine/clipped-text.ts";
import { describe, expect, test } from "vitest";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("a clipped text", () => {
  test("is as it came while it is short enough, also in pieces of a character", () => {
    const text = new ClippedText(10);
    for (const byte of bytes("größe 🎉")) text.push(Uint8Array.of(byte));
    expect(text.text(10)).toBe("größe 🎉");
  });

  test("keeps head and tail, and says how many characters are left out", () => {
    expect(clip("abcdefghij", 4)).toBe("ab\n[… 6 characters left out …]\nij");
  });

  test("cuts no character in two", () => {
    const clipped = clip("🎉".repeat(9), 6);
    expect(clipped).toBe("🎉\n[… 14 characters left out …]\n🎉");
    expect(clipped.isWellFormed()).toBe(true);
  });

  test("holds no more than three times what it keeps, however much comes", () => {
    const text = new ClippedText(1_000);
    const part = bytes("x".repeat(64 * 1024));
    for (let come = 0; come < 1_600; come += 1) text.push(part);
    expect(text.length).toBe(1_600 * 64 * 1024);
    // All that it has.
    const held = text.text(3_000).replaceAll(/[^x]/g, "").length;
    expect(held).toBeLessThanOrEqual(3_000);
    expect(text.text(1_000)).toMatch(/^x{500}\n\[… 104856600 characters left out …\]\nx{500}$/);
  });
});

describe("both streams", () => {
  const texts = (stdout: number, stderr: number) => {
    const output = new ClippedOutput(100);
    output.add(1, "o".repeat(stdout));
    output.add(2, "e".repeat(stderr));
    const { stdout: out, stderr: err, truncated } = output.texts();
    const kept = (text: string, letter: string) => text.split("").filter((one) => one === letter);
    // The note has letters of its own: those before and after it count.
    const own = (text: string) => text.replace(/\n\[….*…\]\n/, "");
    return [kept(own(out), "o").length, kept(own(err), "e").length, truncated];
  };

  test.each([
    [60, 40, [60, 40, false]],
    [1_000, 0, [100, 0, true]],
    [0, 1_000, [0, 100, true]],
    [1_000, 20, [80, 20, true]],
    [20, 1_000, [20, 80, true]],
    [1_000, 1_000, [50, 50, true]],
  ])("of %i and %i characters share the room of 100", (stdout, stderr, expected) => {
    expect(texts(stdout, stderr)).toEqual(expected);
  });
});
