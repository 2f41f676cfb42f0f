/** How a page finds out that somebody listens to it or has changed it. A script as text, after that of the facts. */
export const PROBES = String.raw`
/** The console prepares what it is given only for somebody who listens: the page can watch it do so. */
const consoleReads = () => {
  const read = [];
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = () => (read.push("prepareStackTrace"), "");
  console.debug(new Error("x"));
  Error.prepareStackTrace = prepareStackTrace;
  const error = new Error("y");
  Object.defineProperty(error, "stack", { get: () => (read.push("stack"), "") });
  console.debug(error);
  console.debug(Object.defineProperty(document.createElement("i"), "id", { get: () => (read.push("id"), "") }));
  console.debug(Object.create(new Proxy({}, { ownKeys: () => (read.push("ownKeys"), []) })));
  return [...new Set(read)].join();
};
/** How many copies of a table could be made while console.table looks at it: more than a few, when somebody listens. The best of several, for a busy computer. */
const tableCopies = () => {
  const table = Array.from({ length: 500 }, (_, a) => ({ a, b: a }));
  const timeOf = (work) => {
    let best = Infinity;
    for (let round = 0; round < 5; round += 1) {
      const start = performance.now();
      for (let time = 0; time < 20; time += 1) work();
      best = Math.min(best, performance.now() - start);
    }
    return best;
  };
  return timeOf(() => console.table(table)) / Math.max(timeOf(() => structuredClone(table)), 0.1);
};
/** Functions that a shim might replace: what gives a replaced one away, in its own realm and in a fresh one. */
const patched = (fresh) => {
  const getter = (type, name) => Object.getOwnPropertyDescriptor(type.prototype, name)?.get;
  const named = {
    getParameter: WebGLRenderingContext.prototype.getParameter,
    getExtension: WebGL2RenderingContext.prototype.getExtension,
    toString: Function.prototype.toString,
    query: Permissions.prototype.query,
    "get hardwareConcurrency": getter(Navigator, "hardwareConcurrency"),
    "get deviceMemory": getter(Navigator, "deviceMemory"),
    "get userAgent": getter(Navigator, "userAgent"),
    "get languages": getter(Navigator, "languages"),
    "get webdriver": getter(Navigator, "webdriver"),
    "get plugins": getter(Navigator, "plugins"),
    resolvedOptions: Intl.DateTimeFormat.prototype.resolvedOptions,
    getTimezoneOffset: Date.prototype.getTimezoneOffset,
    createElement: Document.prototype.createElement,
    attachShadow: Element.prototype.attachShadow,
    open: window.open,
  };
  const odd = Object.entries(named).filter(([name, native]) => {
    const text = "function " + name + "() { [native code] }";
    if (!native || native.name !== name || "prototype" in native) return true;
    if (fresh.Function.prototype.toString.call(native) !== text || native.toString() !== text) return true;
    try { new native(); return true; } catch (error) { return !(error instanceof TypeError); }
  });
  return [...odd.map(([name]) => name), ...Object.getOwnPropertyNames(navigator)].join();
};
/** Names that drivers leave behind. */
const traces = () => {
  const names = [...Object.getOwnPropertyNames(window), ...Object.getOwnPropertyNames(document)];
  return names.filter((name) => /cdc_|playwright|__pw|puppeteer|pptr|webdriver|selenium|phantom|domAutomation|rrweb/i.test(name)).join();
};
`;
