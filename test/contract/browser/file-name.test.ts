import { fitName, freeName } from "@svc/contract/browser/file-name.ts";
import { SessionFileName } from "@svc/contract/browser/session-file.ts";
import { expect, test } from "vitest";

const LONG = "é".repeat(200);

test.each([
  ["a.txt", "a.txt"],
  ["../../etc/passwd", ".._.._etc_passwd"],
  ["..\\..\\a", ".._.._a"],
  ["/", "_"],
  ["..", "download"],
  [".", "download"],
  ["", "download"],
  ["a\0b\n\r\x7F.txt", "a_b___.txt"],
  ["%2F..%2f", "%2F..%2f"],
  [`"'\`$(x);`, `"'\`$(x);`],
  ["שלום.txt", "שלום.txt"],
  ["photo\u202Egpj.exe", "photo_gpj.exe"],
  ["\uD800😀", "_😀"],
  [`${LONG}.pdf`, `${"é".repeat(125)}.pdf`],
  [`a.${LONG}`, `a.${"é".repeat(126)}`],
  [`${"😀".repeat(70)}`, "😀".repeat(63)],
])("a download that a site calls %j is kept as %j", (proposed, name) => {
  expect(fitName(proposed, "download")).toBe(name);
  expect(SessionFileName.safeParse(name).success).toBe(true);
});

test("the same name again gets a number before its ending, also where there is no room for one", () => {
  const taken = new Set<string>();
  const next = (name: string): string => {
    const free = freeName(name, (one) => taken.has(one));
    taken.add(free);
    return free;
  };
  expect([next("a.tar"), next("a.tar"), next("a.tar")]).toEqual([
    "a.tar",
    "a (1).tar",
    "a (2).tar",
  ]);
  expect([next(".env"), next(".env")]).toEqual([".env", ".env (1)"]);
  const long = fitName(`${LONG}.pdf`, "download");
  expect([next(long), next(long)]).toEqual([long, `${"é".repeat(123)} (1).pdf`]);
  for (const name of taken) expect(SessionFileName.safeParse(name).success).toBe(true);
});
