import { once } from "node:events";
import { type Server, createServer } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type JsonObject, isObject } from "../../../browser-pool/cdp/envelope.ts";
import { type CdpEvent, OwnClient } from "../../../browser-pool/cdp/own-client.ts";
import { seemingProcessors } from "../../../browser-pool/stealth/overrides.ts";
import { Shim } from "../../../browser-pool/stealth/shim.ts";
import { HeadedBrowser, STEALTH } from "./headed-browser.ts";
import { missingHeadedBrowser } from "./screen.ts";

const CORES = seemingProcessors();
const ATTACH = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };

/** A page that has made everything that a script could lean on useless. */
const HOSTILE = `
  const throws = () => { throw new Error("not here"); };
  const names = ["Proxy", "Reflect", "WeakMap", "Map", "Set", "Promise", "Symbol"];
  for (const name of names) try { window[name] = throws; } catch {}
  for (const type of [Object, Function, Array, Navigator, Document, Element])
    for (const key of Object.getOwnPropertyNames(type.prototype))
      try { type.prototype[key] = throws; } catch {}
  for (const key of ["defineProperty", "getOwnPropertyDescriptor", "getPrototypeOf", "assign"])
    try { Object[key] = throws; } catch {}
`;

const FILES: Record<string, string> = {
  "/worker.js": `const first = navigator.hardwareConcurrency; postMessage(first)`,
  "/nesting.js": `new Worker("/worker.js").onmessage = ({ data }) => postMessage(data)`,
  "/shared.js": `const first = navigator.hardwareConcurrency; onconnect = ({ ports: [port] }) => port.postMessage(first)`,
  "/service.js": `const first = navigator.hardwareConcurrency; onmessage = ({ ports: [port] }) => port.postMessage(first)`,
  "/popup": `<script>const first = navigator.hardwareConcurrency;
    opener.firsts.push({ url: location.search, first })</script>`,
  "/frame": `<script>parent.postMessage(navigator.hardwareConcurrency, "*")</script>`,
  "/hostile": `<script>${HOSTILE}</script><body>hostile`,
  "/": `<title>site</title><body><script>
    var firsts = [];
    const told = (port) => new Promise((resolve) => (port.onmessage = ({ data }) => resolve(data)));
    const times = (count, make) => Promise.all(Array.from({ length: count }, (_, index) => make(index)));
  </script>`,
};

const WORKERS: Record<string, string> = {
  worker: `times(20, (index) => told(new Worker("/worker.js?" + index)))`,
  "worker of a worker": `times(5, (index) => told(new Worker("/nesting.js?" + index)))`,
  "shared worker": `times(10, (index) => told(new SharedWorker("/shared.js?" + index).port))`,
  "service worker": `times(5, async (index) => {
    const { installing } = await navigator.serviceWorker.register("/service.js?" + index, { scope: "/" + index });
    const { port1, port2 } = new MessageChannel();
    installing.postMessage(null, [port2]);
    return told(port1);
  })`,
  "frame of another site": `times(3, () => new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.src = location.href.replace("localhost", "127.0.0.1") + "frame";
    addEventListener("message", ({ source, data }) => source === frame.contentWindow && resolve(data));
    document.body.append(frame);
  }))`,
  "fresh frame, at once": `times(5, () => {
    const frame = document.createElement("iframe");
    document.body.append(frame);
    return frame.contentWindow.navigator.hardwareConcurrency;
  })`,
  "popup, at once": `times(10, () => window.open("about:blank").navigator.hardwareConcurrency)`,
};

/** Evaluates an expression in a session; its promise is waited for. */
async function valueOf(client: OwnClient, session: string, expression: string): Promise<unknown> {
  const evaluate = { expression, awaitPromise: true, returnByValue: true };
  const { result, exceptionDetails } = await client.call("Runtime.evaluate", evaluate, session);
  if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
  return isObject(result) ? result.value : undefined;
}

describe.skipIf(await missingHeadedBrowser())("the shim", () => {
  let server: Server;
  let url: string;
  let browser: HeadedBrowser;
  let shim: Shim;
  const clients: OwnClient[] = [];
  const faults: string[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://localhost");
      const type = pathname.endsWith(".js") ? "text/javascript" : "text/html";
      response.setHeader("content-type", type).end(FILES[pathname] ?? "");
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    url = `http://localhost:${typeof address === "object" ? address?.port : ""}/`;
    browser = await HeadedBrowser.launch(STEALTH);
    shim = await Shim.start(browser.mux, (fault) => void faults.push(fault));
  });

  afterAll(async () => {
    await browser.close();
    server.close();
    server.closeAllConnections();
  });

  beforeEach(() => {
    for (const client of clients.splice(0)) client.close();
  });

  async function clientWith(hear: (event: CdpEvent, client: OwnClient) => void = () => {}) {
    const client: OwnClient = new OwnClient(browser.mux, (event) => hear(event, client));
    await client.open();
    clients.push(client);
    return client;
  }

  /** Opens a page and returns what evaluates in it. */
  async function open(path = "") {
    const client = await clientWith();
    const { targetId } = await client.call("Target.createTarget", { url: url + path });
    const attached = await client.call("Target.attachToTarget", { targetId, flatten: true });
    const sessionId = String(attached.sessionId);
    const evaluate = (expression: string) => valueOf(client, sessionId, expression);
    await expect
      .poll(() => evaluate("document.readyState + location.pathname"))
      .toBe(`complete/${path}`);
    return { evaluate, client };
  }

  /** A customer who has all targets stopped for it and lets them run at once. */
  const impatient = () =>
    clientWith(({ method, params }, client) => {
      if (method !== "Target.attachedToTarget") return;
      const sessionId = String(params.sessionId);
      for (const [name, args] of [
        ["Runtime.runIfWaitingForDebugger", {}],
        ["Target.setAutoAttach", ATTACH],
        ["Runtime.runIfWaitingForDebugger", {}],
      ] as const)
        client.call(name, args, sessionId).catch(() => {});
    });

  for (const [realm, script] of Object.entries(WORKERS))
    test(`reaches every ${realm} before its first script, whoever lets targets run`, async () => {
      for (const client of [await impatient(), await impatient()])
        await client.call("Target.setAutoAttach", ATTACH);
      const { evaluate } = await open();
      const firsts = await evaluate(script);
      expect(new Set(firsts as number[])).toEqual(new Set([CORES]));
    });

  // A Chromium with a window takes minutes for them on a busy computer, with or without the shim.
  test("reaches every one of 200 popups in a burst, and none is lost", async () => {
    const customer = await impatient();
    await customer.call("Target.setAutoAttach", ATTACH);
    const { evaluate } = await open();
    await evaluate(`void times(200, (index) => window.open("/popup?" + index))`);
    await expect.poll(() => evaluate("firsts.length"), { timeout: 400_000 }).toBe(200);
    const urls = await evaluate(`new Set(firsts.map(({ url }) => url)).size`);
    expect(urls).toBe(200);
    expect(await evaluate(`[...new Set(firsts.map(({ first }) => first))].join()`)).toBe(
      `${CORES}`,
    );
  }, 900_000);

  test("leans on nothing that a page can change", async () => {
    const { evaluate } = await open("hostile");
    const script = `(() => {
      const popup = window.open("about:blank");
      return popup.navigator.hardwareConcurrency + "," + navigator.hardwareConcurrency;
    })()`;
    expect(await evaluate(script)).toBe(`${CORES},${CORES}`);
  });

  test("is there when a client looks at a tab as soon as it has opened it", async () => {
    const client = await clientWith();
    const seen = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const where = index % 2 ? "about:blank" : url;
        const { targetId } = await client.call("Target.createTarget", { url: where });
        const attached = await client.call("Target.attachToTarget", { targetId, flatten: true });
        return valueOf(client, String(attached.sessionId), "navigator.hardwareConcurrency");
      }),
    );
    expect(new Set(seen)).toEqual(new Set([CORES]));
  });

  test("lets no target run that was stopped for a customer who has more to set up", async () => {
    const stopped = Promise.withResolvers<JsonObject>();
    const customer = await clientWith(({ method, params }) => {
      if (method === "Target.attachedToTarget" && params.waitingForDebugger === true)
        stopped.resolve(params);
    });
    const { evaluate } = await open();
    await customer.call("Target.setAutoAttach", ATTACH);
    let hasRun = false;
    const opened = evaluate(`window.open("/popup?own").ownScript`).finally(() => (hasRun = true));
    const { sessionId } = await stopped.promise;
    const call = (method: string, params: JsonObject = {}): Promise<unknown> =>
      customer.call(method, params, String(sessionId));
    // By then the shim has had its turn, twice.
    await customer.call("Target.getTargets");
    await customer.call("Target.getTargets");
    expect(hasRun).toBe(false);
    const source = "window.ownScript = 'here'";
    await Promise.all([
      call("Page.enable"),
      call("Page.addScriptToEvaluateOnNewDocument", { source, runImmediately: true }),
      call("Runtime.runIfWaitingForDebugger"),
    ]);
    expect(await opened).toBe("here");
    await expect.poll(() => evaluate("JSON.stringify(firsts)")).toContain(`"first":${CORES}`);
  });

  test("lets a target run when the customer that it was stopped for goes away", async () => {
    const stopped = Promise.withResolvers<void>();
    const customer = await clientWith(({ method }) => {
      if (method === "Target.attachedToTarget") stopped.resolve();
    });
    const { evaluate } = await open();
    await customer.call("Target.setAutoAttach", ATTACH);
    const opened = evaluate(`void window.open("/popup?left")`);
    await stopped.promise;
    customer.close();
    await opened;
    await expect.poll(() => evaluate("JSON.stringify(firsts)")).toContain(`"first":${CORES}`);
  });

  test("moves every realm to another place", async () => {
    await shim.moveTo({ timezone: "Europe/Berlin", locale: "de-DE" });
    const { evaluate } = await open();
    const here = `[Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.language, (1.5).toLocaleString()].join()`;
    expect(await evaluate(here)).toBe("Europe/Berlin,de-DE,1,5");
    const blob = JSON.stringify(`postMessage(${here})`);
    const worker = `told(new Worker(URL.createObjectURL(new Blob([${blob}]))))`;
    expect(await evaluate(worker)).toBe("Europe/Berlin,de-DE,1,5");
    await shim.moveTo({});
  });

  test("remembers nothing of targets that are gone", async () => {
    const { evaluate, client } = await open();
    await evaluate(`times(30, async (index) => {
      const worker = new Worker("/worker.js?" + index);
      worker.terminate();
    })`);
    const { targetInfos } = await client.call("Target.getTargets");
    for (const { targetId } of targetInfos as { targetId: string }[])
      client.call("Target.closeTarget", { targetId }).catch(() => {});
    await expect.poll(() => browser.mux.remembered.calls).toBe(0);
    await expect.poll(() => browser.mux.remembered.starts).toBe(0);
  });

  test("is refused no override by the browser", () => {
    expect(faults).toEqual([]);
  });
});
