import { expect, test } from "vitest";
import { attachment } from "../../../src/content-disposition.ts";
import { seededRandom } from "../../support/worker/random.ts";

test.each([
  ["/tmp/report.pdf", 'attachment; filename="report.pdf"'],
  ["/tmp/two words.txt", 'attachment; filename="two words.txt"'],
  ["/tmp/folder/", 'attachment; filename="folder"'],
  ["/", 'attachment; filename="download"'],
  ["/a/ü.txt", `attachment; filename="_.txt"; filename*=UTF-8''%C3%BC.txt`],
  ['/a/q"uote', `attachment; filename="q_uote"; filename*=UTF-8''q%22uote`],
  ["/a/100%", `attachment; filename="100_"; filename*=UTF-8''100%25`],
  ["/a/é'(*)!", `attachment; filename="_'(*)!"; filename*=UTF-8''%C3%A9%27%28%2A%29!`],
  [
    "/a/x\r\nSet-Cookie: a=b",
    `attachment; filename="x__Set-Cookie: a=b"; filename*=UTF-8''x%0D%0ASet-Cookie%3A%20a%3Db`,
  ],
  ["/a/\u{1F600}", `attachment; filename="_"; filename*=UTF-8''%F0%9F%98%80`],
])("%j is named %s", (path, header) => {
  expect(attachment(path)).toBe(header);
});

/** Reads a header as RFC 6266 says: the exact name where there is one. */
function nameIn(header: string): string | undefined {
  const [, plain, exact] =
    /^attachment; filename="([ !#-[\]-~]*)"(?:; filename\*=UTF-8''([\w!#$&+.^`|~%-]+))?$/.exec(
      header,
    ) ?? [];
  return exact === undefined ? plain : decodeURIComponent(exact);
}

test("any name a file can have comes back whole, and stays in its header", () => {
  const random = seededRandom(7);
  const pick = (): string => {
    const kind = random();
    if (kind < 0.4) return String.fromCodePoint(32 + Math.floor(random() * 95));
    if (kind < 0.6) return String.fromCodePoint(1 + Math.floor(random() * 160));
    const code = Math.floor(random() * 0x11_0000);
    return code >= 0xd800 && code <= 0xdfff ? "\\" : String.fromCodePoint(code);
  };
  for (let round = 0; round < 2000; round += 1) {
    const text = Array.from({ length: 1 + Math.floor(random() * 12) }, pick).join("");
    const name = text.replaceAll("/", "-");
    expect(nameIn(attachment(`/tmp/${name}`))).toBe(name);
  }
});
