import { expect, test } from "vitest";
import { LoginVault } from "../../control-plane/login-vault.ts";

const key = (byte: number): string => btoa(String.fromCharCode(...new Uint8Array(32).fill(byte)));
const belongs = { org: "org_1", profile: "prof_1", site: "a.test" };

test("what is sealed is opened for its own row and its own name alone", async () => {
  const vault = LoginVault.open(key(1));
  const sealed = await vault.seal(belongs, "secret", "pässword");
  expect(await vault.open(belongs, "secret", sealed)).toBe("pässword");
  expect(await vault.seal(belongs, "secret", "pässword")).not.toBe(sealed);
  for (const other of [
    { ...belongs, org: "org_2" },
    { ...belongs, profile: "prof_2" },
    { ...belongs, site: "b.test" },
  ])
    await expect(vault.open(other, "secret", sealed)).rejects.toThrow(/another SVC_LOGIN_KEY/);
  await expect(vault.open(belongs, "totp", sealed)).rejects.toThrow(/another SVC_LOGIN_KEY/);
  const changed = `${sealed.slice(0, -2)}AA`;
  await expect(vault.open(belongs, "secret", changed)).rejects.toThrow(/another SVC_LOGIN_KEY/);
});

test("a new key writes, an old one is still read by, and one that is gone is not", async () => {
  const sealed = await LoginVault.open(key(1)).seal(belongs, "secret", "text");
  const both = LoginVault.open(`${key(2)},${key(1)}`);
  expect(await both.open(belongs, "secret", sealed)).toBe("text");
  const anew = await both.seal(belongs, "secret", "text");
  const alone = LoginVault.open(key(2));
  expect(await alone.open(belongs, "secret", anew)).toBe("text");
  await expect(alone.open(belongs, "secret", sealed)).rejects.toThrow(/Add that key/);
});

test.each([undefined, "", "short", `${key(1)},`])("%o is no key", (text) => {
  expect(() => LoginVault.open(text)).toThrow(/SVC_LOGIN_KEY must be 32 bytes in base64/);
});
