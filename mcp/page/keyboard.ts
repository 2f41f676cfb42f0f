import { CdpError } from "@svc/sdk/cdp.ts";
import { ToolError } from "../tool.ts";
import { type Element, gone } from "./frame.ts";
import { type Chord, type Key, keyOf, MODIFIER_BITS, named } from "./keys.ts";
import type { Page } from "./page.ts";
import { CHOOSE, FIELD, FOCUSED, PLACE_CARET, SET_VALUE } from "./scripts.ts";

/** Longer texts are pasted: each key that is pressed is two calls. */
const TYPED_LENGTH = 500;

/** The kind of an element: `line` and `lines` are typed into, a `value` is set, of a `select` an option is chosen. */
interface Field {
  kind:
    | "line"
    | "lines"
    | "value"
    | "select"
    | "unknown"
    | "disabled"
    | "readonly"
    | "other"
    | "none";
  type?: string;
}

/** Presses a chord `repeat` times. */
export async function press(page: Page, { key, modifiers }: Chord, repeat = 1): Promise<void> {
  const sent: Promise<unknown>[] = [];
  const send = (type: string, { text, ...rest }: Key, bits: number): void => {
    const isWriting =
      type === "keyDown" && text !== undefined && (bits & ~MODIFIER_BITS.Shift) === 0;
    const kind = type === "keyDown" && !isWriting ? "rawKeyDown" : type;
    const writes = isWriting && { text, unmodifiedText: text };
    const event = { type: kind, modifiers: bits, ...rest, ...writes };
    sent.push(page.attached.send("Input.dispatchKeyEvent", event));
  };
  let held = 0;
  for (const modifier of modifiers)
    send("keyDown", named(modifier), (held |= MODIFIER_BITS[modifier]));
  for (let count = 0; count < repeat; count += 1) {
    send("keyDown", key, held);
    send("keyUp", key, held);
  }
  for (const modifier of [...modifiers].reverse())
    send("keyUp", named(modifier), (held &= ~MODIFIER_BITS[modifier]));
  await Promise.all(sent);
}

/** Puts the focus on an element. */
export async function focus({ frame, objectId, name }: Element): Promise<void> {
  try {
    await frame.attached.send("DOM.scrollIntoViewIfNeeded", { objectId }).catch(ignoreRefusal);
    await frame.attached.send("DOM.focus", { objectId });
  } catch (error) {
    if (!(error instanceof CdpError)) throw error;
    if (/detached|could not find/i.test(error.message)) throw gone(name);
    throw notEditable(name, "it cannot have the focus (it is hidden, or no field)");
  }
}

/** Types a text into an element, or into what has the focus. */
export async function type(
  page: Page,
  text: string,
  { element, clear = false }: { element?: Element | undefined; clear?: boolean },
): Promise<void> {
  const field = element ?? (await focused(page));
  const { name, frame, objectId } = field;
  const { kind, type: what = "" } = await frame.attached.run<Field>(FIELD, { objectId });
  if (kind === "select") return choose(field, text);
  if (kind === "value") return setValue(field, text, what);
  if (kind === "disabled" || kind === "readonly") throw notEditable(name, `it is ${kind}`);
  if (kind === "other" || kind === "none")
    throw notEditable(name, `it is ${kind === "none" ? "no element" : `of type ${what}`}`);
  if (element) {
    await focus(element);
    await frame.attached.run(PLACE_CARET, { objectId }, [{ value: clear }]);
  } else if (clear && kind !== "unknown")
    await frame.attached.run(PLACE_CARET, { objectId }, [{ value: true }]);
  if (clear) await press(page, { key: named("Delete"), modifiers: [] });
  await write(page, text, kind === "lines");
}

/** Writes at the caret: by keys, where a keyboard has them. */
async function write(page: Page, text: string, hasLines: boolean): Promise<void> {
  const lines = text.replace(/\r\n?/g, "\n");
  if (lines.length > TYPED_LENGTH) {
    await page.attached.send("Input.insertText", { text: lines });
    return;
  }
  const sent: Promise<unknown>[] = [];
  for (const character of hasLines ? lines : lines.replace(/\n+/g, " ")) {
    const key = character === "\n" ? { ...named("Enter"), isShifted: false } : keyOf(character);
    if (!key) sent.push(page.attached.send("Input.insertText", { text: character }));
    else {
      const { isShifted, ...rest } = key;
      sent.push(press(page, { key: rest, modifiers: isShifted ? ["Shift"] : [] }));
    }
  }
  await Promise.all(sent);
}

async function focused(page: Page): Promise<Element> {
  const on = { frameId: page.frame.frameId };
  const { result } = await page.attached.call(FOCUSED, on, [], false);
  if (result.objectId !== undefined)
    return { frame: page.frame, objectId: result.objectId, name: "The focused element" };
  throw new ToolError(
    "NotEditable",
    "Nothing on the page has the focus. Say where to type by selector, or by x and y.",
  );
}

async function choose({ frame, objectId, name }: Element, text: string): Promise<void> {
  const labels = await frame.attached.run<string[] | null>(CHOOSE, { objectId }, [{ value: text }]);
  if (labels === null) return;
  throw new ToolError(
    "NotEditable",
    `${name} is a list without the option "${text}". Give one of: ${labels.join(", ")}`,
  );
}

async function setValue(
  { frame, objectId, name }: Element,
  value: string,
  what: string,
): Promise<void> {
  const isTaken = await frame.attached.run<boolean>(SET_VALUE, { objectId }, [{ value }]);
  if (!isTaken)
    throw notEditable(
      name,
      `a field of type ${what} does not take "${value}": write 2026-01-31, 13:45, #ff8800 or a number`,
    );
}

const notEditable = (name: string, reason: string): ToolError =>
  new ToolError(
    "NotEditable",
    `${name} cannot be typed into: ${reason}. svc_browser_read_page with format=snapshot shows the fields; boxes and buttons are clicked.`,
  );

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof CdpError)) throw error;
}
