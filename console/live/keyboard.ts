import { modsOf } from "./pointer.ts";

type Send = (message: object) => void;

/** The key that leads out of the picture: every other key is the page's. */
const WAY_OUT = "F6";

/** Sends the keys that are pressed. `leave`: the person wants the buttons. */
export function forwardKeyboard(field: HTMLTextAreaElement, send: Send, leave: () => void): void {
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
}

/** An input method writes: its text comes whole. */
const isWritten = ({ isComposing, key }: KeyboardEvent): boolean =>
  isComposing || key === "Process" || key === "Unidentified" || key === "Dead";

/** The browser is to paste: the event of that has the text. */
const isPaste = ({ ctrlKey, metaKey, shiftKey, key }: KeyboardEvent): boolean =>
  ((ctrlKey || metaKey) && key.toLowerCase() === "v") || (shiftKey && key === "Insert");

function writesText(event: KeyboardEvent): boolean {
  const isShortcut = (event.ctrlKey || event.metaKey) && !event.getModifierState("AltGraph");
  return /^.$/su.test(event.key) && !isShortcut;
}
