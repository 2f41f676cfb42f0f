import { StorageState } from "@svc/contract/browser/storage-state.ts";
import { seededRandom } from "../support/worker/random.ts";

const TEXTS = [
  "",
  "a",
  "é 中 🦄",
  "\ud800",
  "</script>",
  '"',
  "x".repeat(3000),
  "a b",
  "__proto__",
];
const HOSTS = ["site.example", "a.site.example", "localhost", "127.0.0.1", "com", "bücher.example"];
const NAMES = ["", "n", "__Host-n", "__Secure-n", "__Http-n", "__host-http-n", "a,b", 'a"b', "é"];
const VALUES = ["", "v", "=v", "a b", "__Host-x=1", "é", "v".repeat(4000), "\ud800"];
const TIMES = [-1, 0, 1, 4e9, 253_402_300_799, 0.5];
const PATHS = ["/", "/p", "//", "/%zz", "/é", "/a b", `/${"p".repeat(1000)}`];
const SITES = [
  "https://top.example",
  "http://top.example",
  "https://a.b.example:444",
  "https://com",
];
const ENCODED = [
  { v: "undefined" },
  { v: "odd" },
  { d: "no date" },
  { u: "no URL" },
  { bi: "1.5" },
  { r: { p: "(", f: "z" } },
  { ta: { b: "%", k: "ui8" } },
  { ta: { b: "AAA=", k: "f64" } },
  { ref: 7 },
  { o: 1 },
  { a: [{ ref: 1 }], id: 1 },
  null,
  5,
];
const KEY_PATHS = [undefined, "", "id", "a.b", "not a path"];

/** So many states of odd parts, the same in every run. A save accepts each of them. */
export function* oddStates(count: number): Generator<object> {
  const random = seededRandom(7);
  const one = <Item>(items: readonly Item[]): Item | undefined =>
    items[Math.floor(random() * items.length)];
  const some = <Item>(make: () => Item): Item[] =>
    Array.from({ length: Math.floor(random() * 5) }, make);
  const cookie = () => ({
    name: one(NAMES),
    value: one(VALUES),
    domain: `${one(["", "."])}${one(HOSTS)}`,
    path: one(PATHS),
    expires: one(TIMES),
    httpOnly: random() < 0.7,
    secure: random() < 0.7,
    sameSite: one(["Strict", "Lax", "None"]),
    ...(random() < 0.2 && { partitionKey: one(SITES) }),
  });
  const record = () => ({
    ...(random() < 0.5 && { key: one([1, "k", null, {}, [1]]) }),
    ...(random() < 0.3 && { keyEncoded: one(ENCODED) }),
    ...(random() < 0.5 && { value: one([1, "v", null, { id: 1 }, { a: { b: [] } }]) }),
    ...(random() < 0.5 && { valueEncoded: one(ENCODED) }),
  });
  const keyPath = () => {
    const path = one(KEY_PATHS);
    return path === undefined ? {} : { keyPath: path };
  };
  const index = () => ({
    name: one(TEXTS),
    ...keyPath(),
    multiEntry: random() < 0.5,
    unique: true,
  });
  const store = () => ({
    name: one(TEXTS),
    autoIncrement: random() < 0.5,
    ...keyPath(),
    records: some(record),
    indexes: some(index),
  });
  const database = () => ({
    name: one(TEXTS),
    version: one([1, 2, Number.MAX_SAFE_INTEGER]),
    stores: some(store),
  });
  const file = () => ({
    path: one(["a", "a/b", "/", "..", "a//b", "é"]),
    type: one(["file", "directory"]),
    base64: one(["", "YQ==", "%"]),
  });
  const origin = () => ({
    origin: `${one(["http", "https"])}://${one(HOSTS)}${one(["", ":8080", ":25", "/"])}`,
    localStorage: some(() => ({ name: one(TEXTS), value: one(TEXTS) })),
    ...(random() < 0.6 && { indexedDB: some(database) }),
    ...(random() < 0.3 && { opfs: some(file) }),
  });
  const accepted = <Item>(items: Item[], field: string): Item[] =>
    items.filter((item) => StorageState.safeParse({ [field]: [item] }).success);
  for (let at = 0; at < count; at += 1) {
    const cookies = [...some(cookie), ...some(cookie), ...some(cookie)];
    yield {
      cookies: accepted(cookies, "cookies"),
      origins: accepted(some(origin), "origins"),
    };
  }
}
