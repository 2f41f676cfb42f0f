import { CdpError } from "@svc/sdk/cdp.ts";
import { ToolError } from "../tool.ts";
import type { Attached } from "./attached.ts";
import { FIND, STAMP } from "./scripts.ts";

/**
 * A ref of a snapshot: the elements of the frames that a node is in, the node, and three digits of its document. Another
 * process numbers its nodes anew: without the digits a ref that is old could be another element's.
 */
const REF = /^((?:f\d+)*)e(\d+)(\d{3})$/;

/** An element of a frame, held in the isolated world of it. */
export interface Element {
  frame: Frame;
  objectId: string;
  /** The caller's name of the element, for errors. */
  name: string;
}

/** A document: that of a tab, or of a frame in it. */
export class Frame {
  readonly attached: Attached;
  readonly frameId: string;
  /** The element that holds it; null of a tab. */
  readonly owner: { frame: Frame; backendNodeId: number } | null;
  readonly #attach: (frameId: string) => Promise<Attached>;

  constructor(
    attached: Attached,
    frameId: string,
    attach: (frameId: string) => Promise<Attached>,
    owner: Frame["owner"] = null,
  ) {
    this.attached = attached;
    this.frameId = frameId;
    this.owner = owner;
    this.#attach = attach;
  }

  /** The beginning of its nodes' refs. */
  get prefix(): string {
    return this.owner ? `${this.owner.frame.prefix}f${this.owner.backendNodeId}` : "";
  }

  /** The ref of a node, in the document that is there now. */
  refOf(backendNodeId: number, stamp: number): string {
    return `${this.prefix}e${backendNodeId}${String(stamp).padStart(3, "0")}`;
  }

  /** The frame in one of its elements; undefined when the element holds none. */
  async inside(backendNodeId: number): Promise<Frame | undefined> {
    const { node } = await this.attached.send("DOM.describeNode", { backendNodeId });
    const { frameId, contentDocument } = node as { frameId?: string; contentDocument?: object };
    if (frameId === undefined || frameId === this.frameId) return undefined;
    const owner = { frame: this, backendNodeId };
    const attached = contentDocument ? this.attached : await this.#attach(frameId);
    return new Frame(attached, frameId, this.#attach, owner);
  }

  /** Another frame of the same process. */
  sibling(frameId: string): Frame {
    return new Frame(this.attached, frameId, this.#attach, this.owner);
  }

  /** The element of a ref or a CSS selector. */
  async element(name: string): Promise<Element> {
    const [, owners = "", id, stamp] = REF.exec(name.trim()) ?? [];
    if (id === undefined) return this.#bySelector(name);
    try {
      const frame = await this.#within((owners.match(/\d+/g) ?? []).map(Number));
      if (!frame) throw gone(name);
      const [element, now] = await Promise.all([
        frame.byNode(Number(id), name),
        frame.attached.run<number>(STAMP, frame),
      ]);
      if (element && now === Number(stamp)) return element;
    } catch (error) {
      if (!(error instanceof CdpError)) throw error;
    }
    throw gone(name);
  }

  /** An element by the number that the browser has for it. */
  async byNode(backendNodeId: number, name: string): Promise<Element | undefined> {
    const executionContextId = await this.attached.world(this.frameId);
    const params = { backendNodeId, executionContextId };
    const { object } = await this.attached.send("DOM.resolveNode", params);
    const { objectId } = object as { objectId?: string };
    return objectId === undefined ? undefined : { frame: this, objectId, name };
  }

  /** The frame behind a row of elements, each in the frame of the one before. */
  async #within([owner, ...rest]: readonly number[]): Promise<Frame | undefined> {
    if (owner === undefined) return this;
    const inner = await this.inside(owner);
    return inner && inner.#within(rest);
  }

  async #bySelector(selector: string): Promise<Element> {
    const on = { frameId: this.frameId };
    const found = await this.attached.call(FIND, on, [{ value: selector }], false);
    if (found.exceptionDetails)
      throw new ToolError(
        "InvalidSelector",
        `"${selector}" is no CSS selector. Give one (button.primary, #name, [aria-label="Search"]), or a ref such as e37 from svc_browser_read_page with format=snapshot.`,
      );
    const { objectId } = found.result;
    if (objectId !== undefined) return { frame: this, objectId, name: selector };
    throw new ToolError(
      "ElementNotFound",
      `No element matches "${selector}" in the page's own document. Elements in frames and shadow roots have refs alone: svc_browser_read_page with format=snapshot lists what is there.`,
    );
  }
}

/** The element of a ref is no more. */
export const gone = (name: string): ToolError =>
  new ToolError(
    "ElementNotFound",
    `The element ${name} is not in the page any more: refs end with the document or element they are of. Take another snapshot with svc_browser_read_page.`,
  );
