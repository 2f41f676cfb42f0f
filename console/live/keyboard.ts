import { modsOf } from "./pointer.ts";

type Send = (message: object) => void;

/** The key that leads out of the picture: every other key is the page's. */
const WAY_OUT = "F6";
const MOST_PASTED = 32_768;

/**
 * Sends what is typed and pasted. The field under it is always empty: it takes what input methods and the keyboards of
 * phones write, which tell of no keys. `leave`: the person wants the buttons.
 */
export function forwardKeyboard(field: HTMLTextAreaElement, send: Send, leave: () => void): void {
  const write = (): void => {
    if (field.value !== "") send({ type: "text", text: field.value });
    field.value = "";
  };
  const key = (action: "down" | "up") => (event: KeyboardEvent) => {
    if (event.key === WAY_OUT) return action === "down" ? out(event) : undefined;
    if (isWritten(event) || isPaste(event)) return;
    event.preventDefault();
    const { key: name, code } = event;
    const writes = action === "down" && writesText(event) && { text: name };
    // A sign that is written with AltGr is no shortcut.
    const mods = writes && event.getModifierState("AltGraph") ? 0 : modsOf(event);
    send({ type: "key", action, key: name === "Meta" ? "Control" : name, code, mods, ...writes });
  };
  const out = (event: KeyboardEvent): void => {
    event.preventDefault();
    leave();
  };
  field.addEventListener("keydown", key("down"));
  field.addEventListener("keyup", key("up"));
  field.addEventListener("input", ({ isComposing }: Event & { isComposing?: boolean }) => {
    if (!isComposing) write();
  });
  field.addEventListener("compositionend", write);
  field.addEventListener("paste", (event) => {
    event.preventDefault();
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text !== "") send({ type: "text", text: text.slice(0, MOST_PASTED) });
  });
}

/** An input method writes: its text comes whole. */
const isWritten = ({ isComposing, key }: KeyboardEvent): boolean =>
  isComposing || key === "Process" || key === "Unidentified" || key === "Dead";

/** The browser is to paste: the event of that has the text. */
const isPaste = ({ ctrlKey, metaKey, key }: KeyboardEvent): boolean =>
  (ctrlKey || metaKey) && key.toLowerCase() === "v";

function writesText(event: KeyboardEvent): boolean {
  const isShortcut = (event.ctrlKey || event.metaKey) && !event.getModifierState("AltGraph");
  return /^.$/su.test(event.key) && !isShortcut;
}
