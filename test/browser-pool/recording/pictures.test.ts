// Pictures of canvases and videos, as the page script takes them in a real Chromium.
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { LIMITS } from "@svc/contract/limits.ts";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { readRrweb } from "../../../browser-pool/recording/page-script.ts";
import { eventsOf, isStill } from "../../../browser-pool/recording/still.ts";
import { missingBrowser } from "../../support/process/needs.ts";
import { openPersonsBrowser } from "../../support/process/persons-browser.ts";
import { startEchoSite } from "../../support/process/recorded.ts";
import { RecordedDocument } from "./recorded-document.ts";

const PATIENCE = { timeout: 100_000, interval: 100 };
const CHART = `<canvas id=c width=400 height=200></canvas>
  <script>const pen = c.getContext("2d"); pen.fillStyle = "red"; pen.fillRect(0, 0, 400, 200)</script>`;
/** Draws red with WebGL, which keeps nothing of it for the next frame. */
const WEBGL = `<canvas id=c width=400 height=200></canvas><script>
  const gl = c.getContext("webgl");
  const draw = () => { gl.clearColor(1, 0, 0, 1); gl.clear(gl.COLOR_BUFFER_BIT) };
  draw();</script>`;

interface Line {
  type: number;
  data: { tag?: string; payload?: Picture; node?: unknown; adds?: unknown };
}
interface Picture {
  id: number;
  picture: string;
  data?: string;
}

const site = await startEchoSite({
  // Nothing of a picture is the page's to load.
  "content-security-policy": "default-src 'none'; script-src 'unsafe-inline'; img-src *",
});
const gif = Buffer.from("R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");
const pictureSite = createServer((_request, response) => {
  response.writeHead(200, { "content-type": "image/gif" }).end(gif);
});
let browser: Browser;
let rrweb: string;

/** The lines of all takes of a document so far. */
class Told {
  readonly lines: Line[] = [];
  readonly #document: RecordedDocument;

  constructor(document: RecordedDocument) {
    this.#document = document;
  }

  get pictures(): Picture[] {
    return this.lines.flatMap(({ data }) =>
      data.tag === "svc.picture" && data.payload ? [data.payload] : [],
    );
  }

  async take(): Promise<void> {
    for (const line of (await this.#document.take()).split("\n")) {
      if (line === "") continue;
      const events = isStill(line) ? await eventsOf(line) : [line];
      this.lines.push(...events.map((each) => JSON.parse(each) as Line));
    }
  }

  /** Waits until the document has told what is looked for. */
  async until(isThere: (pictures: Picture[]) => boolean): Promise<Picture[]> {
    await vi.waitFor(async () => {
      await this.take();
      if (!isThere(this.pictures)) throw new Error(`there are ${this.pictures.length} pictures`);
    }, PATIENCE);
    return this.pictures;
  }
}

async function opened(html: string, mask: "inputs" | "all" | null = null) {
  const document = await RecordedDocument.open(browser, site.page(html), rrweb, mask);
  return { document, page: document.page, told: new Told(document) };
}

/** The colour in the middle of a picture, which the page itself unpacks. */
async function colourOf({ document }: { document: RecordedDocument }, data: string) {
  const [r, g, b] = JSON.parse(
    await document.evaluate(`(async () => {
      const bytes = Uint8Array.from(atob(${JSON.stringify(data)}.split(",")[1]), (c) => c.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes], { type: "image/webp" }));
      const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
      pen.drawImage(image, 0, 0);
      return JSON.stringify([...pen.getImageData(image.width / 2, image.height / 2, 1, 1).data]);
    })()`),
  ) as [number, number, number];
  if (r > 200 && g < 60 && b < 60) return "red";
  return g > 100 && r < 60 && b < 60 ? "green" : `${r},${g},${b}`;
}

const withData = (pictures: Picture[]) => pictures.flatMap(({ data }) => data ?? []);

/** The number that the last snapshot has for its canvas. */
function idOfCanvas(lines: Line[]): number {
  const snapshot = JSON.stringify(lines.findLast(({ type }) => type === 2));
  return Number(/"tagName":"canvas".*?"id":(\d+)/.exec(snapshot)?.[1]);
}

describe.skipIf(await missingBrowser())("a picture", () => {
  beforeAll(async () => {
    browser = await openPersonsBrowser();
    rrweb = await readRrweb();
    pictureSite.listen(0, "127.0.0.1");
    await once(pictureSite, "listening");
  });
  afterAll(async () => {
    await browser.close();
    site.close();
    pictureSite.close();
  });

  test("of a chart that is drawn once is told once, and by its name for each new snapshot", async () => {
    const { document, page, told } = await opened(CHART);
    const [first] = await told.until((pictures) => pictures.length > 0);
    expect(first?.id).toBe(idOfCanvas(told.lines));
    expect(await colourOf({ document }, first?.data ?? "")).toBe("red");
    await document.begin();
    const last = (await told.until((pictures) => pictures.some(({ data }) => !data))).at(-1);
    expect(last).toEqual({ id: idOfCanvas(told.lines), picture: first?.picture });
    // A chart of another colour is another picture: nothing was told of the old one meanwhile.
    await page.evaluate(`pen.fillStyle = "green"; pen.fillRect(0, 0, 400, 200)`);
    const both = withData(await told.until((pictures) => withData(pictures).length > 1));
    expect(await colourOf({ document }, both[1] ?? "")).toBe("green");
    await page.close();
  });

  test("that is too long is taken again with less quality, though nothing moves", async () => {
    const { page, told } = await opened(`<canvas id=c width=640 height=480></canvas><script>
      // Noise of eight full colours: longer than a picture may be.
      const sign = () => (Math.random() < 0.5 ? 0 : 255);
      const noise = new Uint8ClampedArray(4 * 640 * 480).map((_, n) => (n % 4 === 3 ? 255 : sign()));
      c.getContext("2d").putImageData(new ImageData(noise, 640, 480), 0, 0)</script>`);
    const [first] = await told.until((pictures) => pictures.length > 0);
    expect(first?.data?.length).toBeLessThanOrEqual(LIMITS.replayPictureCharacters);
    await page.close();
  });

  test("of a canvas that moves is told again and again, wherever rrweb has found it", async () => {
    const { document, page, told } = await opened(
      `<iframe srcdoc="<canvas id=c>"></iframe><div id=host></div><script>
      const pens = [];
      let n = 0;
      const draw = () => {
        n += 7;
        for (const pen of pens) { pen.fillStyle = "hsl(" + n + " 90% 50%)"; pen.fillRect(0, 0, 300, 150) }
        requestAnimationFrame(draw);
      };
      draw();
      onload = () => {
        const late = document.createElement("canvas");
        host.attachShadow({ mode: "open" }).append(late);
        pens.push(late.getContext("2d"), frames[0].c.getContext("2d"));
      };</script>`,
    );
    await document.begin();
    const pictures = await told.until((all) => {
      const ids = all.map(({ id }) => id);
      return [...new Set(ids)].filter((id) => ids.indexOf(id) < ids.lastIndexOf(id)).length === 2;
    });
    expect(withData(pictures).length).toBeGreaterThanOrEqual(4);
    await page.close();
  });

  test("of WebGL is that of a frame in which it was drawn", async () => {
    const { document, page, told } = await opened(
      `${WEBGL}<script>const on = () => { draw(); requestAnimationFrame(on) }; on()</script>`,
    );
    const [first] = await told.until((pictures) => pictures.length > 0);
    expect(await colourOf({ document }, first?.data ?? "")).toBe("red");
    await page.close();
  });

  test("of WebGL that moves and stops is never one of nothing", async () => {
    const { document, page, told } = await opened(`${WEBGL}<script>
      let left = 120;
      const on = () => { draw(); if (left-- > 0) requestAnimationFrame(on); else document.title = "stopped" };
      setTimeout(on, 500);</script>`);
    await expect.poll(() => page.title(), PATIENCE).toBe("stopped");
    await told.until((pictures) => pictures.length > 0);
    // The canvas has been looked at since: pictures of another one come, and take their turns with it.
    await page.evaluate(`{ const other = document.createElement("canvas"); document.body.append(other);
      const pen = other.getContext("2d"); let n = 0;
      setInterval(() => { pen.fillStyle = "hsl(" + (n += 9) + " 90% 50%)"; pen.fillRect(0, 0, 300, 150) }, 50) }`);
    await document.begin();
    const pictures = await told.until((all) => new Set(withData(all)).size > 3);
    const own = pictures.filter(({ id }) => id === idOfCanvas(told.lines));
    for (const data of withData(own)) expect(await colourOf({ document }, data)).toBe("red");
    await page.close();
  });

  test("of a video is that of its frame", async () => {
    const { document, page, told } = await opened(`<video id=v muted></video><script>
      const pen = document.createElement("canvas").getContext("2d");
      setInterval(() => { pen.fillStyle = "red"; pen.fillRect(0, 0, 300, 150) }, 50);
      v.srcObject = pen.canvas.captureStream(); v.play()</script>`);
    const [first] = await told.until((pictures) => pictures.length > 0);
    expect(await colourOf({ document }, first?.data ?? "")).toBe("red");
    await page.close();
  });

  test("is not there of a canvas with a picture of another origin, of a huge one, or of one that is to be hidden", async () => {
    const { port } = pictureSite.address() as AddressInfo;
    const { document, page, told } = await opened(`<body>${CHART}<canvas id=tainted></canvas>
      <canvas id=hidden class="rr-block"></canvas><canvas id=huge width=5000 height=4000></canvas><script>
      for (const each of [huge, hidden]) each.getContext("2d").fillRect(0, 0, 50, 50);
      const image = new Image();
      image.onload = () => { tainted.getContext("2d").drawImage(image, 0, 0, 300, 150); document.title = "tainted" };
      image.src = "http://localhost:${port}/"</script>`);
    await expect.poll(() => page.title(), PATIENCE).toBe("tainted");
    const [first] = await told.until((pictures) => pictures.length > 0);
    expect(await colourOf({ document }, first?.data ?? "")).toBe("red");
    await page.evaluate(`pen.fillStyle = "green"; pen.fillRect(0, 0, 400, 200)`);
    const pictures = await told.until((all) => withData(all).length > 1);
    expect(withData(pictures)).toHaveLength(2);
    await page.close();
  });

  test.each(["inputs", "all"] as const)("is not taken with the mask %s", async (mask) => {
    const { document, page, told } = await opened(CHART, mask);
    await document.begin();
    await page.evaluate(`new Promise((done) => { let left = 120;
      const next = () => (left-- > 0 ? requestAnimationFrame(next) : done()); next() })`);
    await told.take();
    expect(told.lines.some(({ type }) => type === 2)).toBe(true);
    expect(told.pictures).toEqual([]);
    await page.close();
  });

  test("is one of few where a hundred large canvases change without end, and their page goes on", async () => {
    const { page, told } = await opened(`<body><script>
      const pens = [];
      for (let n = 0; n < 100; n += 1) {
        const canvas = document.body.appendChild(document.createElement("canvas"));
        canvas.width = canvas.height = 1000;
        canvas.style = "width: 50px; height: 50px";
        pens.push(canvas.getContext("2d"));
      }
      const noise = new Uint32Array(1000 * 1000).map((_, n) => Math.imul(n >> 10, 0x9e3779b1) | 0xff000000);
      const image = new ImageData(new Uint8ClampedArray(noise.buffer), 1000, 1000);
      let at = 0;
      setInterval(() => pens[at++ % 100].putImageData(image, -(at % 50), -(at % 50)), 20);
    </script>`);
    const begun = performance.now();
    const pictures = await told.until((all) => withData(all).length > 8);
    const seconds = (performance.now() - begun) / 1000 + 2;
    const characters = withData(pictures).reduce((sum, { length }) => sum + length, 0);
    // The length that may be told at once and in each second, and that of the pictures on their way.
    expect(characters).toBeLessThan(2 * 512 * 1024 + seconds * 64 * 1024);
    expect(new Set(pictures.map(({ id }) => id)).size).toBeLessThanOrEqual(
      LIMITS.replayPicturedElements,
    );
    await expect.poll(() => page.evaluate("at"), PATIENCE).toBeGreaterThan(50);
    await page.close();
  });

  test("is nothing that a page can see", async () => {
    const { page, told } = await opened(`<script>
      const seen = [];
      const spy = (of, name) => {
        const old = of[name];
        of[name] = function (...given) { seen.push(name); return old.apply(this, given) };
      };
      for (const name of ["getContext", "toDataURL", "toBlob", "captureStream", "getBoundingClientRect"])
        spy(HTMLCanvasElement.prototype, name);
      for (const name of ["drawImage", "getImageData"]) spy(CanvasRenderingContext2D.prototype, name);
      for (const name of ["OffscreenCanvas", "FileReader", "IntersectionObserver", "requestAnimationFrame"]) spy(window, name);
      spy(Document.prototype, "getElementsByTagName");
    </script>${CHART}<script>addEventListener("webglcontextcreationerror", () => seen.push("error"), true)</script>`);
    await told.until((pictures) => pictures.length > 0);
    expect(await page.evaluate("seen")).toEqual(["getContext"]);
    await page.close();
  });
});
