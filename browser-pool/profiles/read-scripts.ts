import { LIMITS } from "@svc/contract/limits.ts";

// Scripts that read the storages of an origin, as text: this project's own types know no document.

const RECORDS_AT_ONCE = 100;
/** Half of the time of a read, so that all other databases are read. */
const DATABASE_MS = LIMITS.profileReadMs / 2;

/** Writes values in Playwright's notation for what JSON has no words for. Throws for what the notation has none for. */
const ENCODE = `(value) => {
  const ARRAYS = {
    Int8Array: "i8", Uint8Array: "ui8", Uint8ClampedArray: "ui8c", Int16Array: "i16", Uint16Array: "ui16",
    Int32Array: "i32", Uint32Array: "ui32", Float32Array: "f32", Float64Array: "f64",
    BigInt64Array: "bi64", BigUint64Array: "bui64",
  };
  const ids = new Map();
  const base64 = (bytes) => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 32768)
      text += String.fromCharCode(...bytes.subarray(at, at + 32768));
    return btoa(text);
  };
  const bytesOf = (view) => base64(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  const pairs = (object) => Object.keys(object).map((k) => ({ k, v: encode(object[k]) }));
  const encode = (from) => {
    if (from === undefined) return { v: "undefined" };
    if (from === null) return { v: "null" };
    if (typeof from === "number")
      return Object.is(from, -0) ? { v: "-0" } : Number.isFinite(from) ? from : { v: String(from) };
    if (typeof from === "bigint") return { bi: String(from) };
    if (typeof from !== "object") return from;
    if (ids.has(from)) return { ref: ids.get(from) };
    const kind = Object.prototype.toString.call(from).slice(8, -1);
    if (kind === "Date") return { d: isNaN(from) ? "" : from.toJSON() };
    if (kind === "RegExp") return { r: { p: from.source, f: from.flags } };
    if (kind === "Error") return { e: { n: from.name, m: from.message, s: from.stack ?? "" } };
    if (kind in ARRAYS) return { ta: { b: bytesOf(from), k: ARRAYS[kind] } };
    if (kind === "ArrayBuffer") return { ab: { b: base64(new Uint8Array(from)) } };
    const id = ids.size + 1;
    ids.set(from, id);
    if (kind === "Array") return { a: Array.from(from, encode), id };
    if (kind === "Map") return { m: Array.from(from, ([k, v]) => ({ k: encode(k), v: encode(v) })), id };
    if (kind === "Set") return { s: Array.from(from, encode), id };
    if (kind === "Object") return { o: pairs(from), id };
    throw new TypeError(kind);
  };
  return encode(value);
}`;

/** Whether JSON tells a value as it is. */
const PLAIN = `(value) => {
  const isPlain = (from) => {
    if (from === null || typeof from === "string" || typeof from === "boolean") return true;
    if (typeof from === "number") return Number.isFinite(from) && !Object.is(from, -0);
    if (typeof from !== "object") return false;
    if (seen.has(from)) return false;
    seen.add(from);
    if (Array.isArray(from)) return Object.keys(from).length === from.length && from.every(isPlain);
    const type = Object.getPrototypeOf(from);
    if (type !== Object.prototype) return false;
    return Object.keys(from).every((key) => key !== "toJSON" && key !== "__proto__" && isPlain(from[key]));
  };
  const seen = new Set();
  return isPlain(value);
}`;

/** In a frame: the storages of its origin, and how many entries cannot be told. \`left\`: characters that may be told. */
const READ = `async (left) => {
  const AT_ONCE = ${RECORDS_AT_ONCE};
  const encode = ${ENCODE};
  const isPlain = ${PLAIN};
  let lost = 0;
  const counted = (text) => {
    left -= text.length;
    if (left < 0) throw new RangeError("too large");
    return text;
  };
  const tries = async (work, otherwise) => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof RangeError) throw error;
      lost += 1;
      return otherwise;
    }
  };
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("blocked"));
  });
  // A database whose site is changing its version opens when the site is done with that.
  const soon = (work) => Promise.race([
    work,
    new Promise((_, reject) => setTimeout(() => reject(new Error("late")), ${DATABASE_MS})),
  ]);
  const told = (name, value) => (isPlain(value) ? { [name]: value } : { [name + "Encoded"]: encode(value) });
  const pathOf = (keyPath) =>
    Array.isArray(keyPath) ? { keyPathArray: keyPath } : keyPath === null ? {} : { keyPath };
  const recordOf = (store, key, value) => {
    try {
      const record = { ...(store.keyPath === null && told("key", key)), ...told("value", value) };
      counted(JSON.stringify(record));
      return [record];
    } catch (error) {
      if (error instanceof RangeError && left < 0) throw error;
      lost += 1;
      return [];
    }
  };
  // Some at a time: a store may hold far more than is kept.
  const recordsOf = async (store) => {
    const records = [];
    for (let range = null; ;) {
      const [keys, values] = await Promise.all([
        done(store.getAllKeys(range, AT_ONCE)),
        done(store.getAll(range, AT_ONCE)),
      ]);
      keys.forEach((key, at) => records.push(...recordOf(store, key, values[at])));
      if (keys.length < AT_ONCE) return records;
      range = IDBKeyRange.lowerBound(keys.at(-1), true);
    }
  };
  const readStore = async (transaction, name) => {
    const store = transaction.objectStore(name);
    const indexes = Array.from(store.indexNames, (each) => {
      const { name, keyPath, multiEntry, unique } = store.index(each);
      return { name, ...pathOf(keyPath), multiEntry, unique };
    });
    const records = await recordsOf(store);
    return { name, autoIncrement: store.autoIncrement, ...pathOf(store.keyPath), records, indexes };
  };
  const readDatabase = async ({ name }) => {
    const base = await done(indexedDB.open(name));
    try {
      const names = [...base.objectStoreNames];
      if (names.length === 0) return { name, version: base.version, stores: [] };
      const transaction = base.transaction(names, "readonly");
      const stores = [];
      for (const each of names) stores.push(await readStore(transaction, each));
      return { name, version: base.version, stores };
    } finally {
      base.close();
    }
  };
  const base64Of = async (file) => {
    const url = await new Promise((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result);
      reader.onerror = () => reject(reader.error);
      reader.readAsDataURL(file);
    });
    return url.slice(url.indexOf(",") + 1);
  };
  const readFolder = async (folder, above) => {
    const found = [];
    for await (const [name, handle] of folder.entries()) {
      const path = above + name;
      if (handle.kind === "directory") {
        found.push({ path, type: "directory" }, ...(await readFolder(handle, path + "/")));
        continue;
      }
      const read = await tries(async () => {
        const file = await handle.getFile();
        if (file.size > left) throw new RangeError("too large");
        return [{ path, type: "file", base64: counted(await base64Of(file)) }];
      }, []);
      found.push(...read);
    }
    return found;
  };
  const items = Object.keys(localStorage).map((name) => ({ name, value: localStorage.getItem(name) ?? "" }));
  counted(JSON.stringify(items));
  const databases = [];
  for (const each of await tries(() => indexedDB.databases(), [])) {
    const read = await tries(() => soon(readDatabase(each)), null);
    if (read) databases.push(read);
  }
  const root = await tries(() => navigator.storage?.getDirectory(), null);
  const opfs = root ? await tries(() => readFolder(root, ""), []) : [];
  const isEmpty = items.length + databases.length + opfs.length === 0;
  const storage = { origin, localStorage: items, indexedDB: databases, opfs };
  return lost + " " + (isEmpty ? "" : JSON.stringify(storage));
}`;

/** The page of an origin that tells the page around it how many entries it cannot tell, a space, and the others as JSON. */
export function readingPage(left: number): string {
  return `<!doctype html><script>
    const tell = (report) => parent.postMessage(report, "*");
    tell("begun");
    (${READ})(${left}).then(
      tell,
      (error) => tell(error instanceof RangeError ? "tooLarge" : null),
    );
  </script>`;
}
