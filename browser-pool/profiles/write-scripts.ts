import type { StorageOrigin } from "@svc/contract/browser/storage-origin.ts";

// Scripts that run in pages, as text: this project's own types know no document.

/** How long a frame that has loaded may say nothing. */
const SILENT_MS = 2_000;

/** In the page around the frames: opens a frame for each origin, and resolves with what each frame reports. */
const EMBED = `(origins, atOnce) => new Promise((resolve) => {
  const waiting = [...origins];
  const open = new Map();
  const reports = {};
  const finish = (frame, report) => {
    reports[open.get(frame).origin] = report;
    open.delete(frame);
    // The first one stays: its storage key is looked at.
    if (document.querySelector("iframe") !== frame) frame.remove();
    next();
  };
  const next = () => {
    while (open.size < atOnce && waiting.length > 0) {
      const frame = document.createElement("iframe");
      const origin = waiting.shift();
      open.set(frame, { origin, hasBegun: false });
      // A frame that has loaded something else, such as a page about an error, says nothing. One that has begun said so
      // before it had loaded, but its word may come later than that event.
      const giveUp = () => open.get(frame)?.hasBegun === false && finish(frame, null);
      frame.onload = () => setTimeout(giveUp, ${SILENT_MS});
      // A hidden frame is not painted.
      frame.style.display = "none";
      frame.src = origin + "/";
      document.body.append(frame);
    }
    if (open.size === 0) resolve(reports);
  };
  addEventListener("message", ({ source, data }) => {
    for (const [frame, state] of open) {
      if (frame.contentWindow !== source) continue;
      if (data === "begun") state.hasBegun = true;
      else finish(frame, data);
    }
  });
  next();
})`;

/** Values in Playwright's notation for what JSON has no words for. */
const DECODE = `(encoded) => {
  const SPECIAL = { undefined: undefined, null: null, NaN, Infinity, "-Infinity": -Infinity, "-0": -0 };
  const ARRAYS = {
    i8: Int8Array, ui8: Uint8Array, ui8c: Uint8ClampedArray, i16: Int16Array, ui16: Uint16Array,
    i32: Int32Array, ui32: Uint32Array, f32: Float32Array, f64: Float64Array,
    bi64: BigInt64Array, bui64: BigUint64Array,
  };
  const seen = new Map();
  const bytes = (base64) => Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
  const known = (id, value) => (seen.set(id, value), value);
  const decode = (from) => {
    if (typeof from !== "object" || from === null) return from;
    if ("ref" in from) return seen.get(from.ref);
    if ("v" in from) return SPECIAL[from.v];
    if ("d" in from) return new Date(from.d);
    if ("u" in from) return new URL(from.u);
    if ("bi" in from) return BigInt(from.bi);
    if ("r" in from) return new RegExp(from.r.p, from.r.f);
    if ("e" in from)
      return Object.assign(new Error(from.e.m), { name: from.e.n, stack: from.e.s });
    if ("ta" in from) return new ARRAYS[from.ta.k](bytes(from.ta.b).buffer);
    if ("ab" in from) return bytes(from.ab.b).buffer;
    if ("a" in from) {
      const list = known(from.id, []);
      for (const one of from.a) list.push(decode(one));
      return list;
    }
    if ("o" in from) {
      const object = known(from.id, {});
      for (const { k, v } of from.o) if (k !== "__proto__") object[k] = decode(v);
      return object;
    }
    if ("m" in from) {
      const map = known(from.id, new Map());
      for (const { k, v } of from.m) map.set(decode(k), decode(v));
      return map;
    }
    if ("s" in from) {
      const set = known(from.id, new Set());
      for (const one of from.s) set.add(decode(one));
      return set;
    }
    return from;
  };
  return decode(encoded);
}`;

/** In a frame: fills the storages of its origin. Resolves with how many entries could not be restored. */
const RESTORE = `async ({ localStorage: items, indexedDB: databases, opfs }) => {
  const decode = ${DECODE};
  let lost = 0;
  const tries = async (work) => {
    try {
      return await work();
    } catch {
      lost += 1;
    }
  };
  const upgrade = (base, { stores }) => {
    for (const { name, autoIncrement, keyPath, keyPathArray, indexes } of stores) {
      try {
        const store = base.createObjectStore(name, { autoIncrement, keyPath: keyPathArray ?? keyPath });
        for (const { name, keyPath, keyPathArray, unique, multiEntry } of indexes)
          store.createIndex(name, keyPathArray ?? keyPath, { unique, multiEntry });
      } catch {
        lost += 1;
      }
    }
  };
  const opened = (database) => new Promise((resolve, reject) => {
    const opening = indexedDB.open(database.name, database.version);
    opening.onupgradeneeded = () => upgrade(opening.result, database);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
    opening.onblocked = () => reject(new Error("blocked"));
  });
  const add = (store, record) => {
    try {
      const value = "value" in record ? record.value : decode(record.valueEncoded);
      const adding = store.add(value, "key" in record ? record.key : decode(record.keyEncoded));
      // A record that does not fit must not undo the other records.
      adding.onerror = (event) => (event.preventDefault(), (lost += 1));
    } catch {
      lost += 1;
    }
  };
  const fill = (base, { stores }) => new Promise((resolve, reject) => {
    const writing = base.transaction(base.objectStoreNames, "readwrite");
    writing.oncomplete = resolve;
    writing.onabort = () => reject(writing.error);
    const present = stores.filter(({ name }) => base.objectStoreNames.contains(name));
    for (const { name, records } of present)
      for (const record of records) add(writing.objectStore(name), record);
  });
  const restoreDatabase = async (database) => {
    const base = await opened(database);
    try {
      if (base.objectStoreNames.length > 0) await fill(base, database);
    } finally {
      base.close();
    }
  };
  const restoreFile = async ({ path, type, base64 = "" }) => {
    const names = path.split("/");
    const last = names.pop();
    let folder = await navigator.storage.getDirectory();
    for (const name of names) folder = await folder.getDirectoryHandle(name, { create: true });
    if (type === "directory") return folder.getDirectoryHandle(last, { create: true });
    const file = await folder.getFileHandle(last, { create: true });
    const writing = await file.createWritable();
    await writing.write(Uint8Array.from(atob(base64), (one) => one.charCodeAt(0)));
    await writing.close();
  };
  for (const { name, value } of items) await tries(() => localStorage.setItem(name, value));
  for (const database of databases) await tries(() => restoreDatabase(database));
  for (const entry of opfs) await tries(() => restoreFile(entry));
  return lost;
}`;

/** The page around the frames. */
export const OUTER_PAGE = "<!doctype html><body>";

/** An expression for the page around the frames, once it has loaded: the reports by origin. */
export function embedding(origins: string[], atOnce: number): string {
  const loaded = `new Promise((resolve) =>
    document.readyState === "complete" ? resolve() : addEventListener("load", resolve))`;
  return `${loaded}.then(() => (${EMBED})(${JSON.stringify(origins)}, ${atOnce}))`;
}

/** The page of an origin: it reports that it has begun, and how many entries it lost. */
export function restoringPage({ localStorage, indexedDB, opfs }: StorageOrigin): string {
  const state = JSON.stringify({ localStorage, indexedDB, opfs });
  // Not a literal of the state: there `__proto__` is no key. In a script of HTML no `<` may stand that is data.
  const text = JSON.stringify(state).replaceAll("<", "\\u003c");
  return `<!doctype html><script>
    const tell = (report) => parent.postMessage(report, "*");
    tell("begun");
    (${RESTORE})(JSON.parse(${text})).then(tell, () => tell(null));
  </script>`;
}
