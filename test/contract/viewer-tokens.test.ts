import { signToken } from "@svc/contract/tokens.ts";
import {
  mintAlias,
  mintViewerToken,
  readAlias,
  readViewerToken,
} from "@svc/contract/tokens/viewer.ts";
import { describe, expect, test } from "vitest";

const NOW = 1_795_000_000_000;
const SECONDS = NOW / 1000;
const claims = {
  aud: "observe",
  mode: "observe",
  sub: "obs_x",
  org: "org_a",
  iat: SECONDS,
  exp: SECONDS + 60,
} as const;
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("a viewer's token", () => {
  test("gives back its claims until it expires, under its own secret alone", async () => {
    const token = await mintViewerToken("k", claims);
    expect(await readViewerToken("k", token, NOW)).toEqual(claims);
    expect(await readViewerToken("k", token, NOW + 60_000)).toBeNull();
    expect(await readViewerToken("l", token, NOW)).toBeNull();
  });

  test("is the JWT that others know: header, claims and the signature over both", async () => {
    const [header = "", payload = "", mac = "", ...rest] = (
      await mintViewerToken("k", claims)
    ).split(".");
    expect(JSON.parse(Buffer.from(header, "base64url").toString())).toEqual({
      alg: "HS256",
      typ: "JWT",
    });
    expect(JSON.parse(Buffer.from(payload, "base64url").toString())).toEqual(claims);
    expect(mac).toHaveLength(43);
    expect(rest).toEqual([]);
  });

  test("is refused with another algorithm, without a signature, with other claims, and of another kind", async () => {
    const token = await mintViewerToken("k", claims);
    const [header = "", payload = "", mac = ""] = token.split(".");
    for (const forged of [
      `${part({ alg: "none", typ: "JWT" })}.${payload}.`,
      `${part({ alg: "none", typ: "JWT" })}.${payload}.${mac}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${header}.${part({ ...claims, org: "org_b" })}.${mac}`,
      `${token}.${mac}`,
      await signToken("k", "observer", JSON.stringify(claims)),
      "",
      "..",
    ])
      expect(await readViewerToken("k", forged, NOW)).toBeNull();
  });
});

test("an alias stands for its session until it expires, and shows nothing of it", async () => {
  const known = { id: "a-session", org: "org_a", expiresAt: NOW + 60_000 };
  const alias = await mintAlias("k", known);
  expect(await readAlias("k", alias, NOW)).toEqual(known);
  expect(await readAlias("k", alias, known.expiresAt)).toBeNull();
  expect(await readAlias("l", alias, NOW)).toBeNull();
  expect(await readAlias("k", alias.slice("obs_".length), NOW)).toBeNull();
  expect(Buffer.from(alias.split(".")[0]?.slice(4) ?? "", "base64url").toString()).not.toContain(
    known.id,
  );
});
