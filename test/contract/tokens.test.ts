import {
  isSameSecret,
  mintFileToken,
  mintHostBearer,
  mintPreviewToken,
  mintSessionId,
  readFileToken,
  readHostBearer,
  readPreviewToken,
  readSessionId,
  signToken,
  verifyToken,
} from "@svc/contract/tokens.ts";
import { describe, expect, test } from "vitest";

const claims = { org: "org_a", issuedAt: 1_795_000_000_000 };

test("a session id gives back what it carries, needs no encoding, and is new each time", async () => {
  const id = await mintSessionId("k", claims);
  expect(await readSessionId("k", id)).toEqual(claims);
  expect(encodeURIComponent(id)).toBe(id);
  expect(await mintSessionId("k", claims)).not.toBe(id);
});

describe("a token is refused", () => {
  test("under another secret or another purpose", async () => {
    const token = await signToken("k", "session", "p");
    expect(await verifyToken("k", "session", token)).toBe("p");
    expect(await verifyToken("l", "session", token)).toBeNull();
    expect(await verifyToken("k", "vm", token)).toBeNull();
  });

  test("with any one character changed, cut off or added", async () => {
    const token = await signToken("k", "session", "payload");
    const others = Array.from(token, (character, at) => {
      const other = character === "A" ? "B" : "A";
      return token.slice(0, at) + other + token.slice(at + 1);
    });
    for (const bad of [...others, token.slice(1), token.slice(0, -1), `${token}A`, `${token}.A`]) {
      expect(await verifyToken("k", "session", bad)).toBeNull();
    }
  });

  test("with the spare bits of its last character set: one token has one text", async () => {
    const token = await signToken("k", "session", "p");
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = alphabet.indexOf(token.at(-1) ?? "");
    const twin = token.slice(0, -1) + alphabet[last + 1];
    expect(await verifyToken("k", "session", twin)).toBeNull();
  });

  test.each(["", ".", "a", "a.b.c", "=.=", "é.é", "a.%00"])("when it is %o", async (token) => {
    expect(await verifyToken("k", "session", token)).toBeNull();
  });
});

test("a host bearer works until it expires", async () => {
  const host = { org: "org_a", id: "a.b-c", expiresAt: 1000 };
  const bearer = await mintHostBearer("k", host);
  expect(await readHostBearer("k", bearer, 999)).toEqual(host);
  expect(await readHostBearer("k", bearer, 1000)).toBeNull();
  expect(await readHostBearer("l", bearer, 999)).toBeNull();
});

const FILE = { org: "org_a", id: "vm", mode: "upload", path: null, expiresAt: 1000 } as const;
const PREVIEW = { id: "vm", port: 80, expiresAt: 1000 };
test.each([
  ["file", mintFileToken("k", FILE), readFileToken, readPreviewToken, FILE],
  ["preview", mintPreviewToken("k", PREVIEW), readPreviewToken, readFileToken, PREVIEW],
])(
  "a %s token says what it was minted for, to its last moment, and nothing else takes it",
  async (_name, minted, read, other, claims) => {
    const token = await minted;
    expect(await read("k", token, 999)).toEqual(claims);
    expect(await read("k", token, 1000)).toBeNull();
    expect(await read("l", token, 999)).toBeNull();
    expect(await other("k", token, 999)).toBeNull();
  },
);

test("an empty or unset secret is like no other, not even like itself", async () => {
  expect(await isSameSecret("", "")).toBe(false);
  expect(await isSameSecret("", undefined)).toBe(false);
  expect(await isSameSecret("a", undefined)).toBe(false);
});

test("secrets are compared whole", async () => {
  expect(await isSameSecret("abc", "abc")).toBe(true);
  for (const other of ["", "ab", "abcd", "abd"])
    expect(await isSameSecret(other, "abc")).toBe(false);
});
