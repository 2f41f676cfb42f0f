import type { Element } from "./frame.ts";
import type { Page } from "./page.ts";
import { HTML, LINKS, TEXT } from "./scripts.ts";
import { snapshotOf } from "./snapshot.ts";

export type Format = "text" | "links" | "html" | "snapshot";

interface Wanted {
  format: Format;
  within?: string | undefined;
  offset: number;
  most: number;
}

interface Part {
  text: string;
  total: number;
  end: number;
}

const SCRIPTS = { text: TEXT, links: LINKS, html: HTML };

/** A part of a page, and where the next one begins. */
export async function read(page: Page, wanted: Wanted) {
  const { format, within, offset, most } = wanted;
  const element = within === undefined ? undefined : await page.element(within);
  const { text, total, end } =
    format === "snapshot"
      ? part(await snapshot(page, element), wanted)
      : await (element?.frame ?? page.frame).attached.run<Part>(
          SCRIPTS[format],
          element ?? page.frame,
          [{ value: offset }, { value: most }],
        );
  const truncated = end < total;
  return { text, totalChars: total, truncated, ...(truncated && { nextOffset: end }) };
}

async function snapshot(page: Page, element: Element | undefined): Promise<string> {
  if (!element) return snapshotOf(page.frame);
  const { objectId, frame } = element;
  const { node } = await frame.attached.send("DOM.describeNode", { objectId });
  return snapshotOf(frame, (node as { backendNodeId: number }).backendNodeId);
}

/** A part that ends with a line, where one ends. */
function part(text: string, { offset, most }: Wanted): Part {
  const limit = offset + most;
  const lineEnd = text.lastIndexOf("\n", limit) + 1;
  const end = limit >= text.length ? text.length : lineEnd > offset ? lineEnd : limit;
  return { text: text.slice(offset, end), total: text.length, end: Math.max(end, offset) };
}
