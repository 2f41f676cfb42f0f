import { PERSON_LIMITS } from "@svc/contract/browser/person-limits.ts";
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
    send({ type: "mouse", ...placeIn(picture, event), mods: modsOf(event), ...message });
  /** Moves are sent with the next picture of this window: a fast mouse has more than anybody sees. */
  let moved: MouseEvent | null = null;
  const flush = (): void => {
    if (moved) mouse(moved, { action: "move", button: heldBy(moved) });
    moved = null;
  };
  // A button that goes down here comes up here, wherever the mouse is by then.
  surface.addEventListener("pointerdown", ({ pointerId, pointerType }) => {
    if (pointerType === "mouse") surface.setPointerCapture(pointerId);
  });
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
  // The menu of a finger is the phone's own: by it a person pastes.
  surface.addEventListener("contextmenu", (event) => {
    if (!("pointerType" in event) || event.pointerType !== "touch") event.preventDefault();
  });
  surface.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const unit = UNITS[event.deltaMode] ?? 1;
      const turned = { dx: bounded(event.deltaX * unit), dy: bounded(event.deltaY * unit) };
      mouse(event, { action: "wheel", ...turned });
    },
    { passive: false },
  );
  forwardTouch(surface, picture, send);
}

/**
 * A finger that moves scrolls; one that does not is a click, by the mouse events that browsers make of it. Two are the
 * phone's own, which makes the picture larger.
 */
function forwardTouch(surface: HTMLElement, picture: Picture, send: Send): void {
  let last: Touch | null = null;
  const begin = ({ touches }: TouchEvent): void => {
    last = touches.length === 1 ? (touches[0] ?? null) : null;
  };
  surface.addEventListener("touchstart", begin, { passive: true });
  surface.addEventListener("touchend", begin, { passive: true });
  surface.addEventListener(
    "touchmove",
    (event) => {
      const [touch, second] = event.touches;
      if (!touch || !last || second) return;
      event.preventDefault();
      const from = placeIn(picture, last);
      const to = placeIn(picture, touch);
      // The way of a finger is counted in pixels of the page, which are more than those of a small picture.
      const turned = { dx: (from.x - to.x) / to.scale, dy: (from.y - to.y) / to.scale };
      send({
        type: "mouse",
        action: "wheel",
        ...to,
        dx: bounded(turned.dx),
        dy: bounded(turned.dy),
      });
      last = touch;
    },
    { passive: false },
  );
}

/** A message holds no more: whoever sends more is taken for a program that is out of order. */
const bounded = (pixels: number): number =>
  Math.min(Math.max(pixels, -PERSON_LIMITS.pixels), PERSON_LIMITS.pixels);

function placeIn(picture: Picture, point: { clientX: number; clientY: number }) {
  const { x, y, scale } = picture.at(point);
  return { x: bounded(x), y: bounded(y), scale };
}

const heldBy = ({ buttons }: MouseEvent): string =>
  buttons & 1 ? "left" : buttons & 4 ? "middle" : buttons & 2 ? "right" : "none";
