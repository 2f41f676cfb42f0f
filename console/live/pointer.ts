import type { Picture } from "./picture.ts";

type Send = (message: object) => void;

const BUTTONS = ["left", "middle", "right"] as const;
/** Pixels of a line and of a page, for wheels that count in these. */
const UNITS = [1, 16, 600] as const;
const MOST_CLICKS = 3;

/** As DevTools adds them up. A Mac's command key is the control key of the page's computer. */
export const modsOf = (event: MouseEvent | KeyboardEvent): number =>
  (event.altKey ? 1 : 0) + (event.ctrlKey || event.metaKey ? 2 : 0) + (event.shiftKey ? 8 : 0);

/** Sends what the mouse, or a finger, does over the picture. */
export function forwardPointer(surface: HTMLElement, picture: Picture, send: Send): void {
  const mouse = (event: MouseEvent, message: object): void =>
    send({ type: "mouse", ...picture.at(event), mods: modsOf(event), ...message });
  /** Moves are sent with the next picture of this window: a fast mouse has more than anybody sees. */
  let moved: MouseEvent | null = null;
  const flush = (): void => {
    if (moved) mouse(moved, { action: "move", button: heldBy(moved) });
    moved = null;
  };
  surface.addEventListener("mousemove", (event) => {
    if (!moved) requestAnimationFrame(flush);
    moved = event;
  });
  for (const action of ["down", "up"] as const)
    surface.addEventListener(`mouse${action}`, (event) => {
      flush();
      const button = BUTTONS[event.button];
      if (!button) return;
      const clicks = Math.min(Math.max(event.detail, 1), MOST_CLICKS);
      mouse(event, { action, button, clicks });
      // The place is not in the text of the field that takes the keys.
      event.preventDefault();
      surface.focus({ preventScroll: true });
    });
  surface.addEventListener("contextmenu", (event) => event.preventDefault());
  surface.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const unit = UNITS[event.deltaMode] ?? 1;
      mouse(event, { action: "wheel", dx: event.deltaX * unit, dy: event.deltaY * unit });
    },
    { passive: false },
  );
  forwardTouch(surface, picture, send);
}

/** A finger that moves scrolls; one that does not is a click, by the mouse events that browsers make of it. */
function forwardTouch(surface: HTMLElement, picture: Picture, send: Send): void {
  let last: Touch | null = null;
  surface.addEventListener("touchstart", ({ touches }) => (last = touches[0] ?? null), {
    passive: true,
  });
  surface.addEventListener(
    "touchmove",
    (event) => {
      const [touch] = event.touches;
      if (!touch || !last) return;
      event.preventDefault();
      const from = picture.at(last);
      const to = picture.at(touch);
      send({ type: "mouse", action: "wheel", ...to, dx: from.x - to.x, dy: from.y - to.y });
      last = touch;
    },
    { passive: false },
  );
}

const heldBy = ({ buttons }: MouseEvent): string =>
  buttons & 1 ? "left" : buttons & 4 ? "middle" : buttons & 2 ? "right" : "none";
