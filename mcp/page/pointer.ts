import { CdpError } from "@svc/sdk/cdp.ts";
import { ToolError } from "../tool.ts";
import { type Element, type Frame, gone } from "./frame.ts";
import type { Page } from "./page.ts";
import { DESCRIBE, IS_SHOWN, OWNS } from "./scripts.ts";

export interface Point {
  x: number;
  y: number;
}

export type MouseButton = "left" | "middle" | "right";
const BUTTONS: Readonly<Record<MouseButton, number>> = { left: 1, right: 2, middle: 4 };

/** An element may be moving, or something before it fading out: it is given the time. */
const PATIENCE_MS = 1_500;
const AGAIN_MS = 50;

interface Metrics {
  cssLayoutViewport: { pageX: number; pageY: number; clientWidth: number; clientHeight: number };
}

/** Presses and releases a button of the mouse. */
export async function clickAt(
  page: Page,
  { x, y }: Point,
  { button = "left", clickCount = 1 }: { button?: MouseButton; clickCount?: number } = {},
): Promise<void> {
  const send = (type: string, more: object): Promise<unknown> =>
    page.attached.send("Input.dispatchMouseEvent", { type, x, y, ...more });
  const sent = [send("mouseMoved", {})];
  for (let count = 1; count <= clickCount; count += 1) {
    sent.push(send("mousePressed", { button, buttons: BUTTONS[button], clickCount: count }));
    sent.push(send("mouseReleased", { button, clickCount: count }));
  }
  await Promise.all(sent);
}

/** A point that the caller names has to be in the viewport: nothing would be hit. */
export async function mustSee(page: Page, { x, y }: Point): Promise<void> {
  const { cssLayoutViewport: view } = (await page.attached.send(
    "Page.getLayoutMetrics",
  )) as unknown as Metrics;
  const { clientWidth: width, clientHeight: height } = view;
  if (x >= 0 && y >= 0 && x < width && y < height) return;
  throw new ToolError(
    "OutOfBounds",
    `${x},${y} is outside the viewport of ${width}x${height} CSS pixels. Scroll with svc_browser_key PageDown, or name the element by selector: it is scrolled to.`,
  );
}

/** Scrolls to an element and answers a point of it that a click hits. */
export async function pointOf(page: Page, element: Element): Promise<Point> {
  const late = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = await aim(page, element);
    if (!(found instanceof ToolError)) return found;
    if (performance.now() > late) throw found;
    await page.loads.until(() => page.isGone, AGAIN_MS, page.tabs.signal);
  }
}

/** A point of the element, or why there is none now. */
async function aim(page: Page, element: Element): Promise<Point | ToolError> {
  const { frame, objectId, name } = element;
  const { attached } = frame;
  try {
    // The calls of a session are answered in their order: one way there and back for all three.
    const [, { quads }, metrics] = await Promise.all([
      attached.send("DOM.scrollIntoViewIfNeeded", { objectId }),
      attached.send("DOM.getContentQuads", { objectId }),
      attached.send("Page.getLayoutMetrics"),
    ]);
    const seen = metrics as unknown as Metrics;
    const { cssLayoutViewport: view } = seen;
    const point = middleOf(quads as number[][], view.clientWidth, view.clientHeight);
    if (!point) return hidden(name);
    const covering = await covers(element, scrolled(seen, point));
    if (covering !== null) return covering;
    return await outermost(page, frame, point);
  } catch (error) {
    if (!(error instanceof CdpError)) throw error;
    if (/detached|could not find|does not belong|cannot find context/i.test(error.message))
      throw gone(name);
    return hidden(name);
  }
}

/** The refusal that names what covers the element; null when the click reaches it. */
async function covers(element: Element, at: Point): Promise<ToolError | null> {
  const { frame, objectId, name } = element;
  const { attached } = frame;
  const { backendNodeId, frameId } = await attached.send("DOM.getNodeForLocation", { ...at });
  const hit = await frameOf(frame, String(frameId)).byNode(Number(backendNodeId), "");
  if (hit && frameId === frame.frameId) {
    if (await attached.run<boolean>(OWNS, { objectId }, [{ objectId: hit.objectId }])) return null;
  } else if (await isInside(frame, objectId, String(frameId))) return null;
  if (!(await attached.run<boolean>(IS_SHOWN, { objectId }))) return hidden(name);
  const what = hit ? await attached.run<string>(DESCRIBE, { objectId: hit.objectId }) : "a frame";
  return new ToolError(
    "ElementObscured",
    `${name} is covered by ${what}. Close or click that first (a banner, a dialog, a menu), scroll with svc_browser_key PageDown, or click the point that is meant by x and y.`,
  );
}

/** A frame of the same process, by its id. */
const frameOf = (frame: Frame, frameId: string): Frame =>
  frameId === frame.frameId ? frame : frame.sibling(frameId);

/** Whether the element of a frame is this one: a click on the element is then one in the frame. */
async function isInside(frame: Frame, objectId: string, frameId: string): Promise<boolean> {
  try {
    const { backendNodeId } = await frame.attached.send("DOM.getFrameOwner", { frameId });
    const owner = await frame.byNode(Number(backendNodeId), "");
    const held = owner && [{ objectId: owner.objectId }];
    return held ? await frame.attached.run<boolean>(OWNS, { objectId }, held) : false;
  } catch (error) {
    // The frame of the tab itself has no owner.
    if (!(error instanceof CdpError)) throw error;
    return false;
  }
}

/** The point in the tab, of a point in a frame that has a process of its own; or what covers that frame. */
async function outermost(page: Page, frame: Frame, point: Point): Promise<Point | ToolError> {
  if (frame.attached === page.attached || !frame.owner) return point;
  const { frame: outer, backendNodeId } = frame.owner;
  if (outer.attached === frame.attached) return outermost(page, outer, point);
  const { x, y } = await cornerOf(frame.owner);
  const moved = { x: point.x + x, y: point.y + y };
  const holder = await outer.byNode(backendNodeId, `the frame ${frame.prefix}`);
  const covering = holder && (await covers(holder, await inDocument(outer, moved)));
  return covering ?? outermost(page, outer, moved);
}

/** The corner of a frame, in the frame around it. */
async function cornerOf({ frame, backendNodeId }: NonNullable<Frame["owner"]>): Promise<Point> {
  const { model } = await frame.attached.send("DOM.getBoxModel", { backendNodeId });
  const [x = 0, y = 0] = (model as { content: number[] }).content;
  return { x: Math.round(x), y: Math.round(y) };
}

/** The corner in the tab of a frame with a process of its own, which counts from that corner. */
export async function originOf(page: Page, frame: Frame): Promise<Point> {
  if (frame.attached === page.attached || !frame.owner) return { x: 0, y: 0 };
  const { frame: outer } = frame.owner;
  const around = await originOf(page, outer);
  if (outer.attached === frame.attached) return around;
  const { x, y } = await cornerOf(frame.owner);
  return { x: around.x + x, y: around.y + y };
}

/** The browser finds nodes by points of the document, not of the viewport. */
async function inDocument({ attached }: Frame, { x, y }: Point): Promise<Point> {
  const metrics = (await attached.send("Page.getLayoutMetrics")) as unknown as Metrics;
  return scrolled(metrics, { x, y });
}

const scrolled = ({ cssLayoutViewport: view }: Metrics, { x, y }: Point): Point => ({
  x: x + Math.round(view.pageX),
  y: y + Math.round(view.pageY),
});

/** The middle of what is to be seen of the largest part. */
function middleOf(quads: readonly number[][], width: number, height: number): Point | undefined {
  let best: (Point & { area: number }) | undefined;
  for (const quad of quads) {
    const xs = [0, 2, 4, 6].map((at) => clamp(quad[at] ?? 0, width));
    const ys = [1, 3, 5, 7].map((at) => clamp(quad[at] ?? 0, height));
    const [left, right] = [Math.min(...xs), Math.max(...xs)];
    const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
    const area = (right - left) * (bottom - top);
    if (area < 1 || area <= (best?.area ?? 0)) continue;
    best = { x: Math.floor((left + right) / 2), y: Math.floor((top + bottom) / 2), area };
  }
  return best;
}

const clamp = (value: number, most: number): number => Math.max(0, Math.min(value, most));

const hidden = (name: string): ToolError =>
  new ToolError(
    "ElementNotVisible",
    `${name} is in the page but not shown: it has no size, is hidden, or lies outside. Open what holds it first (a menu, a tab, "show more"); svc_browser_screenshot shows the page as it is.`,
  );
