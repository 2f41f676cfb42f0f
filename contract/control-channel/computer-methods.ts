import * as z from "zod";
import { SCREEN_MOST } from "../vm/machine.ts";

const nothing = z.object({});
const ok = z.object({ ok: z.literal(true) });
/** A place on the screen. Beyond its edges: `OutOfBounds`, with the size of the screen. */
const at = z.int();
const place = { x: at, y: at };
const here = { x: at.exactOptional(), y: at.exactOptional() };
const button = z.enum(["left", "middle", "right"]).default("left");
/** Steps of a wheel. */
const steps = z.int().min(-100).max(100).default(0);
const side = z.int().min(1).max(SCREEN_MOST.width);

/** Longest text of one `computer.type`. */
export const TYPED_CHARACTERS = 10_000;

/** The namespace `computer` (control-channel.md, Methods), which the host answers itself, of desktops alone. */
export const COMPUTER_METHODS = {
  "computer.screen": { params: nothing, result: z.object({ width: z.int(), height: z.int() }) },
  "computer.cursor": { params: nothing, result: z.object({ x: z.int(), y: z.int() }) },
  /** The picture comes on channel 1 before the answer. `scale` is applied to `region`. */
  "computer.screenshot": {
    params: z.object({
      format: z.enum(["png", "jpeg"]).default("png"),
      /** Of a jpeg. */
      quality: z.int().min(1).max(100).default(80),
      region: z.object({ ...place, width: side, height: side }).exactOptional(),
      scale: z.number().min(0.05).max(1).default(1),
    }),
    result: z.object({ width: z.int(), height: z.int(), format: z.enum(["png", "jpeg"]) }),
  },
  "computer.move": { params: z.object(place), result: ok },
  "computer.down": { params: z.object({ button }), result: ok },
  "computer.up": { params: z.object({ button }), result: ok },
  "computer.click": {
    params: z.object({ ...here, button, count: z.int().min(1).max(3).default(1) }),
    result: ok,
  },
  "computer.drag": {
    params: z.object({
      fromX: at,
      fromY: at,
      toX: at,
      toY: at,
      button,
      durationMs: z.int().min(0).max(10_000).default(300),
    }),
    result: ok,
  },
  /** `dy` above 0 is down, `dx` above 0 to the right. */
  "computer.scroll": { params: z.object({ ...here, dx: steps, dy: steps }), result: ok },
  "computer.type": {
    params: z.object({
      // Every character, new line and tab; no other control characters.
      text: z
        .string()
        .max(TYPED_CHARACTERS)
        .regex(/^(?:[^\p{Cc}\p{Cs}]|[\n\t])*$/u, "has a control character, or half of a character"),
      delayMs: z.int().min(0).max(1_000).default(0),
    }),
    result: ok,
  },
  /** A key by its X name or its character, or several with `+`: `ctrl+shift+t`. Unknown ones are `UnknownKey`. */
  "computer.key": {
    params: z.object({
      key: z.string().min(1).max(100),
      repeat: z.int().min(1).max(100).default(1),
    }),
    result: ok,
  },
} as const;
