import { SaveProfile } from "@svc/contract/browser/profile.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { describe, expect, test } from "vitest";

const cookie = { name: "n", value: "v", domain: "site.example" };
const secure = { secure: true, httpOnly: true, path: "/" };
const store = { name: "s", autoIncrement: false, records: [], indexes: [] };
const index = { name: "i", keyPath: "a", multiEntry: false, unique: false };

const withCookie = (fields: object) => ({ cookies: [{ ...cookie, ...fields }] });
const withOrigin = (fields: object) => ({ origins: [{ origin: "https://a.example", ...fields }] });
const withStore = (fields: object) =>
  withOrigin({ indexedDB: [{ name: "d", version: 1, stores: [{ ...store, ...fields }] }] });
const manyOrigins = (count: number) => ({
  origins: Array.from({ length: count }, (_, at) => ({ origin: `https://${at}.example` })),
});

/** The field that a save of a state is refused with; null when the state is accepted. */
function refusedField(storageState: unknown): string | null {
  const { error } = SaveProfile.safeParse({ storageState });
  return error ? (error.issues[0]?.path.join(".") ?? "") : null;
}

describe("a storage state is refused", () => {
  const cookies: [field: string, fields: object][] = [
    ["name", { name: 1 }],
    ["name", { name: null }],
    ["name", { name: "a\nb" }],
    ["name", { name: "a;b" }],
    ["name", { name: "a=b" }],
    ["name", { name: " a" }],
    ["name", { name: "", value: "" }],
    ["value", { value: 5 }],
    ["value", { value: "a\0b" }],
    ["value", { value: "a\x7Fb" }],
    ["value", { value: "a\tb" }],
    ["value", { value: "b " }],
    ["value", { value: "v".repeat(4096) }],
    ["value", { value: "é".repeat(2048) }],
    ["domain", { domain: 7 }],
    ["domain", { domain: "" }],
    ["domain", { domain: "." }],
    ["domain", { domain: "..a.example" }],
    ["domain", { domain: "http://a.example" }],
    ["domain", { domain: "a.example:80" }],
    ["domain", { domain: "::1" }],
    ["domain", { domain: "999.1.1.1" }],
    ["domain", { domain: "a%b.example" }],
    ["domain", { domain: "a@b.example" }],
    ["path", { path: 1 }],
    ["path", { path: "" }],
    ["path", { path: "p" }],
    ["path", { path: "/a;b" }],
    ["path", { path: `/${"p".repeat(1024)}` }],
    ["expires", { expires: "1" }],
    ["expires", { expires: -2 }],
    ["expires", { expires: 253_402_300_800 }],
    ["expires", { expires: null }],
    ["httpOnly", { httpOnly: 1 }],
    ["secure", { secure: "yes" }],
    ["sameSite", { sameSite: "lax" }],
    ["sameSite", { sameSite: null }],
    ["secure", { name: "__Secure-n" }],
    ["secure", { name: "__host-n" }],
    ["path", { name: "__Host-n", ...secure, path: "/p" }],
    ["domain", { name: "__Host-n", ...secure, domain: ".site.example" }],
    ["httpOnly", { name: "__Http-n", secure: true }],
    ["path", { name: "__Host-Http-n", ...secure, path: "/p" }],
    ["partitionKey", { partitionKey: { topLevelSite: "https://a.example" }, secure: true }],
    ["partitionKey", { partitionKey: "a.example", secure: true }],
    ["secure", { partitionKey: "https://a.example" }],
    ["_crHasCrossSiteAncestor", { _crHasCrossSiteAncestor: "yes" }],
  ];
  test.each(cookies)("for the %s of a cookie with %j", (field, fields) => {
    expect(refusedField(withCookie(fields))).toBe(`storageState.cookies.0.${field}`);
  });

  const origins: [field: string, fields: object][] = [
    ["origin", { origin: 1 }],
    ["origin", { origin: "a.example" }],
    ["origin", { origin: "file:///etc/passwd" }],
    ["origin", { origin: "chrome://crash" }],
    ["origin", { origin: "https://a.example/path" }],
    ["origin", { origin: "https://user@a.example" }],
    ["origin", { origin: "https://a.example?" }],
    ["origin", { origin: "https://" }],
    ["localStorage", { localStorage: {} }],
    ["localStorage.0", { localStorage: ["a"] }],
    ["localStorage.0.name", { localStorage: [{ value: "v" }] }],
    ["localStorage.0.value", { localStorage: [{ name: "n", value: 1 }] }],
    ["indexedDB", { indexedDB: {} }],
    ["indexedDB.0.name", { indexedDB: [{ version: 1, stores: [] }] }],
    ["indexedDB.0.version", { indexedDB: [{ name: "d", version: "one", stores: [] }] }],
    ["indexedDB.0.version", { indexedDB: [{ name: "d", version: 0, stores: [] }] }],
    ["indexedDB.0.stores", { indexedDB: [{ name: "d", version: 1, stores: 7 }] }],
    ["opfs", { opfs: {} }],
    ["opfs.0.path", { opfs: [{ path: "", type: "file" }] }],
    ["opfs.0.type", { opfs: [{ path: "a", type: "link" }] }],
    ["opfs.0.base64", { opfs: [{ path: "a", type: "file", base64: 1 }] }],
  ];
  test.each(origins)("for the %s of an origin with %j", (field, fields) => {
    expect(refusedField(withOrigin(fields))).toBe(`storageState.origins.0.${field}`);
  });

  const stores: [field: string, fields: object][] = [
    ["name", { name: 1 }],
    ["autoIncrement", { autoIncrement: "no" }],
    ["keyPath", { keyPath: ["a"] }],
    ["keyPathArray", { keyPathArray: "a" }],
    ["keyPathArray.0", { keyPathArray: [1] }],
    ["records", { records: {} }],
    ["records.0", { records: [1] }],
    ["indexes", { indexes: null }],
    ["indexes.0.name", { indexes: [{ ...index, name: 1 }] }],
    ["indexes.0.unique", { indexes: [{ ...index, unique: 1 }] }],
    ["indexes.0.multiEntry", { indexes: [{ ...index, multiEntry: null }] }],
  ];
  test.each(stores)("for the %s of a store of a database with %j", (field, fields) => {
    expect(refusedField(withStore(fields))).toBe(
      `storageState.origins.0.indexedDB.0.stores.0.${field}`,
    );
  });

  test.each([
    ["storageState", undefined],
    ["storageState", []],
    ["storageState.cookies", { cookies: {} }],
    ["storageState.cookies", { cookies: null }],
    ["storageState.cookies.1", { cookies: [cookie, "b"] }],
    ["storageState.origins", { origins: "all" }],
    ["storageState.origins.0", { origins: [null] }],
    ["storageState.origins", manyOrigins(LIMITS.profileOrigins + 1)],
    ["storageState.credentials.0.id", { credentials: [{}] }],
  ])("with the field %s", (field, state) => {
    expect(refusedField(state)).toBe(field);
  });
});

test.each([
  {},
  { cookies: [], origins: [] },
  withCookie({}),
  withCookie({ domain: ".site.example" }),
  withCookie({ domain: "[::1]" }),
  withCookie({ domain: "bücher.example" }),
  withCookie({ domain: "localhost" }),
  withCookie({ expires: 0 }),
  withCookie({ expires: 1893456000.123 }),
  withCookie({ value: 'é 中 🦄 " , = \u0085' }),
  withCookie({ name: "", value: "alone" }),
  withCookie({ name: "__Host-n", ...secure }),
  withCookie({ name: "__Secure-n", ...secure, domain: ".site.example", path: "/p" }),
  withCookie({ partitionKey: "https://top.example", secure: true, _crHasCrossSiteAncestor: false }),
  withOrigin({}),
  withOrigin({ origin: "https://a.example/" }),
  withOrigin({ origin: "http://127.0.0.1:8080", localStorage: [{ name: "", value: "" }] }),
  withStore({ keyPath: "a", records: [{ value: { a: 1 } }], indexes: [index] }),
])("the storage state %j is accepted and kept as it is", (state) => {
  const kept = SaveProfile.parse({ storageState: state }).storageState;
  expect(JSON.stringify(kept)).toBe(JSON.stringify(state));
});

test("as many origins as a state may have are accepted", () => {
  expect(refusedField(manyOrigins(LIMITS.profileOrigins))).toBe(null);
});

test("fields that are unknown are kept at every level", () => {
  const more = { more: { a: [1, null] } };
  const state = {
    ...more,
    cookies: [{ ...cookie, ...more }],
    origins: [{ origin: "https://a.example", localStorage: [{ name: "n", value: "v", ...more }] }],
  };
  expect(SaveProfile.parse({ storageState: state })).toEqual({ storageState: state });
});
