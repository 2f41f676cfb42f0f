/**
 * Makes rows of what the scripts before it find, and sends them to the site. A row that is covered is one where nothing
 * may be found in a stealth session; the others say what differs from the computer of a person.
 */
export const ROWS = String.raw`
const answerOf = (port) => new Promise((resolve, reject) => {
  port.onmessage = ({ data }) => resolve(data);
  port.onerror = ({ message }) => reject(new Error(message));
  setTimeout(() => reject(new Error("a realm says nothing")), 60_000);
});
const frame = (source) => {
  const element = document.createElement("iframe");
  if (source) element.src = source;
  document.body.append(element);
  return element.contentWindow;
};
const realms = async () => {
  const fresh = frame();
  const popup = window.open("about:blank");
  const atOnce = { fresh: secureFactsOf(fresh), popup: popup && secureFactsOf(popup) };
  popup?.close();
  const service = await navigator.serviceWorker.register("/service.js");
  const active = service.installing ?? service.waiting ?? service.active;
  const { port1, port2 } = new MessageChannel();
  active.postMessage(null, [port2]);
  const other = new URL("/frame", location);
  other.hostname = location.hostname === "localhost" ? "127.0.0.1" : "localhost";
  const foreign = new Promise((resolve) => addEventListener("message", ({ data }) => resolve(data)));
  frame(other.href);
  return {
    fresh,
    atOnce,
    full: {
      page: await allFacts(),
      worker: await answerOf(new Worker("/worker.js")),
      nested: await answerOf(new Worker("/nesting.js")),
      shared: await answerOf(new SharedWorker("/shared.js").port),
      service: await answerOf(port1),
      foreign: await foreign,
    },
  };
};
const alike = (sets, names) => {
  const page = sets.page;
  const odd = Object.entries(sets).flatMap(([realm, facts]) =>
    names.filter((name) => facts && facts[name] !== undefined && facts[name] !== page[name]).map((name) => realm + ": " + facts[name]));
  return odd.join("; ");
};
const rowsOf = async () => {
  const rows = [];
  const row = (check, seen, ok, isCovered = true) => rows.push({ check, seen: String(seen), ok: Boolean(ok), isCovered });
  // Before anything else: the console is watched as it is.
  const reads = consoleReads();
  const copies = tableCopies();
  const { fresh, atOnce, full } = await realms();
  const { page } = full;
  const all = { ...full, ...atOnce };
  const requests = await fetch("/requests").then((answer) => answer.json());
  const major = /Chrome\/(\d+)/.exec(page.userAgent)?.[1];
  const brands = page.brands ? page.brands.split(", ") : [];
  const clean = (check, odd) => row(check, odd || "alike", odd === "");

  row("navigator.webdriver", page.webdriver, page.webdriver === false);
  row("user agent", page.userAgent, !/headless/i.test(page.userAgent));
  clean("user agent in frames, popups and workers", alike(all, ["userAgent", "appVersion", "platform", "webdriver"]));
  clean("user agent in requests", requests.map((one) => one.agent).filter((agent) => agent !== page.userAgent).join("; "));
  row("client hints: brands", page.brands || "none", page.brands && !/headless/i.test(page.brands));
  row("client hints against user agent", page.high, brands.includes("Chromium " + major) && page.high?.includes("Chromium " + major + ".") && page.userAgent.includes(page.system));
  clean("client hints in frames, popups and workers", alike(all, ["brands", "mobile", "system", "high"]));
  const hints = requests.map((one) => one.brands).filter(Boolean);
  const shown = brands.map((one) => { const [, brand, version] = /^(.*) (\d+)$/.exec(one); return '"' + brand + '";v="' + version + '"'; }).join(", ");
  clean("client hints in requests", hints.filter((one) => one !== shown).join("; "));
  row("languages", page.languages, page.languages.includes(","));
  clean("languages in frames, popups and workers", alike(all, ["languages", "language"]));
  const weighed = page.languages.split(",").map((one, index) => index ? one + ";q=" + (1 - index / 10).toFixed(1) : one).join();
  clean("languages in requests", requests.map((one) => one.languages ?? "none").filter((one) => one !== weighed).join("; "));
  row("plugins", navigator.plugins.length + " plugins, " + navigator.mimeTypes.length + " types", navigator.plugins.length === 5 && navigator.mimeTypes.length === 2 && navigator.pdfViewerEnabled);
  row("window.chrome", typeof window.chrome, typeof window.chrome === "object");
  const { state } = await navigator.permissions.query({ name: "notifications" });
  row("permissions", Notification.permission + ", " + state, (Notification.permission === "default" ? "prompt" : Notification.permission) === state);
  row("WebGL", page.graphics, page.graphics && !/swiftshader|llvmpipe|softpipe/i.test(page.graphics));
  clean("WebGL in workers and frames", alike(full, ["graphics"]));
  row("processors", page.cores, page.cores >= 4);
  clean("processors and memory in frames, popups and workers", alike(all, ["cores", "memory"]));
  row("screen", screen.width + "x" + screen.height, screen.width >= 1280 && screen.height >= 720 && screen.colorDepth === 24);
  row("window on its screen", outerWidth + "x" + outerHeight + " around " + innerWidth + "x" + innerHeight, outerWidth <= screen.width && outerHeight <= screen.height && outerHeight - innerHeight > 50 && screenX >= 0 && screenY >= 0);
  row("pointer", matchMedia("(hover: hover)").matches + ", " + matchMedia("(pointer: fine)").matches, matchMedia("(hover: hover) and (pointer: fine)").matches);
  row("time zone against clock and locale", page.timeZone + ", " + page.locale, page.locale.split("-")[0] === page.language.split("-")[0]);
  clean("time zone and locale in frames, popups and workers", alike(all, ["timeZone", "locale", "offset", "number"]));
  row("connection", navigator.connection?.rtt, navigator.connection?.rtt > 0);
  const devices = (await navigator.mediaDevices.enumerateDevices()).map(({ kind }) => kind);
  row("media devices", devices.join() || "none", devices.includes("audioinput") && devices.includes("videoinput"));
  row("what the console reads", reads || "nothing", reads === "");
  row("time of console.table", "as " + copies.toFixed(1) + " copies", copies < 10);
  const changed = patched(fresh);
  row("replaced functions", changed || "none", changed === "");
  const left = traces();
  row("names left behind", left || "none", left === "");

  row("brand", page.brands, page.brands?.includes("Google Chrome"), false);
  row("voices", speechSynthesis.getVoices().length, speechSynthesis.getVoices().length > 0, false);
  row("WebGPU", Boolean(await navigator.gpu?.requestAdapter().catch(() => null)), await navigator.gpu?.requestAdapter().catch(() => null), false);
  const unasked = await new Promise((resolve) => setTimeout(() => { const opened = window.open("about:blank"); opened?.close(); resolve(opened); }));
  row("popups that nobody asked for", unasked ? "open" : "blocked", !unasked, false);
  row("desktop panel", screen.height - screen.availHeight, screen.height > screen.availHeight, false);
  return rows;
};
addEventListener("load", () => rowsOf()
  .catch((error) => [{ check: "the page itself", seen: String(error?.stack ?? error), ok: false, isCovered: true }])
  .then((rows) => fetch("/rows" + location.search, { method: "POST", body: JSON.stringify(rows) })));
`;
