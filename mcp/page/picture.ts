import { CdpError } from "@svc/sdk/cdp.ts";
import { PICTURE_BASE64 } from "../answer.ts";
import { ToolError } from "../tool.ts";
import type { Element } from "./frame.ts";
import type { Page } from "./page.ts";
import { originOf } from "./pointer.ts";

/** A picture of a page, and how many of its pixels one CSS pixel has. */
export interface Picture {
  data: string;
  width: number;
  height: number;
  scale: number;
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Longest edge that models see. */
const LONGEST_EDGE = 1_568;
/** The tallest page that the browser draws in one piece. */
const TALLEST_PAGE = 16_000;
const LOWEST_QUALITY = 10;
const QUALITY_STEP = 20;
const DRAWN_MS = 30_000;

/** The part of a page that is to be drawn: the viewport unless something is said. */
export interface Wanted {
  fullPage?: boolean;
  element?: Element | undefined;
  quality?: number;
}

/** Draws the page as a JPEG that is not too large. */
export async function pictureOf(page: Page, wanted: Wanted = {}): Promise<Picture> {
  if (page.tabs.ids.size > 1)
    await page.tabs.cdp.send("Target.activateTarget", page.tab, page.tabs);
  const { box, isBeyond } = await boxOf(page, wanted);
  let scale = Math.min(1, LONGEST_EDGE / Math.max(box.width, box.height));
  let quality = wanted.quality ?? 70;
  // A screen may have several pixels for one of CSS: the first picture tells.
  let density = 1;
  for (;;) {
    const clip = { ...box, scale: scale / density };
    const params = { format: "jpeg", quality, clip, captureBeyondViewport: isBeyond };
    const { data } = await page.attached.send("Page.captureScreenshot", params, DRAWN_MS);
    const jpeg = String(data);
    const size = sizeOf(jpeg);
    const expected = Math.round(box.width * scale);
    if (size.width > 0 && density === 1 && Math.abs(size.width - expected) > 1 + expected / 50)
      density = size.width / expected;
    else if (jpeg.length <= PICTURE_BASE64) return { data: jpeg, ...size, scale };
    else if (quality > LOWEST_QUALITY) quality = Math.max(LOWEST_QUALITY, quality - QUALITY_STEP);
    else scale *= 0.7;
  }
}

async function boxOf(
  page: Page,
  { fullPage = false, element }: Wanted,
): Promise<{ box: Box; isBeyond: boolean }> {
  const inFrame = element && (await quadBox(element));
  const origin = element && (await originOf(page, element.frame));
  const box = inFrame && origin && { ...inFrame, x: inFrame.x + origin.x, y: inFrame.y + origin.y };
  const metrics = (await page.attached.send("Page.getLayoutMetrics")) as unknown as {
    cssLayoutViewport: { pageX: number; pageY: number; clientWidth: number; clientHeight: number };
    cssContentSize: Box;
  };
  const {
    pageX: x,
    pageY: y,
    clientWidth: width,
    clientHeight: height,
  } = metrics.cssLayoutViewport;
  if (fullPage && !element) {
    const { width: whole, height: tall } = metrics.cssContentSize;
    const size = { width: Math.max(1, whole), height: Math.max(1, Math.min(tall, TALLEST_PAGE)) };
    return { box: { x: 0, y: 0, ...size }, isBeyond: true };
  }
  if (!box) return { box: { x, y, width, height }, isBeyond: false };
  const isInView =
    box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height;
  return { box: { ...box, x: box.x + x, y: box.y + y }, isBeyond: !isInView };
}

/** The place of an element in the viewport of its frame, after it was scrolled to. */
async function quadBox({ frame, objectId, name }: Element): Promise<Box> {
  try {
    const [, { quads }] = await Promise.all([
      frame.attached.send("DOM.scrollIntoViewIfNeeded", { objectId }),
      frame.attached.send("DOM.getContentQuads", { objectId }),
    ]);
    const all = (quads as number[][]).flat();
    const xs = all.filter((_value, at) => at % 2 === 0);
    const ys = all.filter((_value, at) => at % 2 === 1);
    const [x, y] = [Math.floor(Math.min(...xs)), Math.floor(Math.min(...ys))];
    const [right, bottom] = [Math.ceil(Math.max(...xs)), Math.ceil(Math.max(...ys))];
    if (right > x && bottom > y)
      return { x, y, width: right - x, height: Math.min(bottom - y, TALLEST_PAGE) };
  } catch (error) {
    if (!(error instanceof CdpError)) throw error;
  }
  throw new ToolError(
    "ElementNotVisible",
    `${name} is in the page but not shown. Leave selector out for a screenshot of what is shown.`,
  );
}

/** Width and height as a JPEG's own header says them. */
function sizeOf(base64: string): { width: number; height: number } {
  // The header of Chromium's pictures is in the first few hundred bytes.
  const bytes = Uint8Array.from(atob(base64.slice(0, 4_000)), (one) => one.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  for (let at = 2; at + 9 < bytes.length; at += 2 + view.getUint16(at + 2)) {
    const marker = view.getUint8(at + 1);
    // Of the markers C0 to CF three are no frame headers.
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
  }
  return { width: 0, height: 0 };
}
