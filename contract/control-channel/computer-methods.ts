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

/** Longest time that a button stays down without its client: a model that drags by several calls thinks between them. */
export const HELD_BUTTON_MS = 120_000;

/** Longest text of the clipboard, in UTF-8: a request with it fits into a message. */
export const CLIPBOARD_BYTES = 1_000_000;

/** Windows, processes and ports that an answer lists at most, and characters of each text in it. */
export const LISTED = { windows: 200, processes: 500, ports: 500, characters: 300 } as const;

/** The name of a window, as X has it. */
export const WindowId = z.string().regex(/^0x[\da-f]{1,8}$/, "is none of computer.windows");

/** Where a window is, without its frame. A part of it may lie beyond the screen. */
const geometry = { x: z.int(), y: z.int(), width: z.int(), height: z.int() };

/** A window, as `computer.windows` tells of it. */
export const WindowInfo = z.object({
  id: WindowId,
  title: z.string(),
  class: z.string(),
  ...geometry,
  focused: z.boolean(),
});
export type WindowInfo = z.infer<typeof WindowInfo>;

/** A process of the machine, as `computer.processes` tells of it. */
export const DesktopProcess = z.object({
  pid: z.int(),
  parentPid: z.int(),
  name: z.string(),
  command: z.string(),
  /** Of one processor, since it began. */
  cpuPercent: z.number(),
  memoryBytes: z.int(),
});
export type DesktopProcess = z.infer<typeof DesktopProcess>;

/** A TCP port that a program of the machine listens on. Of the kernel's own sockets `pid` is 0. */
export const DesktopPort = z.object({
  port: z.int(),
  address: z.string(),
  pid: z.int(),
  process: z.string(),
});
export type DesktopPort = z.infer<typeof DesktopPort>;

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
  /** The button goes up when the socket of its client ends, or `holdMs` later. `computer.up` of any client lets go of it. */
  "computer.down": {
    params: z.object({ button, holdMs: z.int().min(0).max(HELD_BUTTON_MS).default(0) }),
    result: ok,
  },
  "computer.up": { params: z.object({ button }), result: ok },
  "computer.click": {
    params: z.object({ ...here, button, count: z.int().min(1).max(3).default(1) }),
    result: ok,
  },
  /** Along a straight line from one place to another, or along a `path`. */
  "computer.drag": {
    params: z.object({
      fromX: at.exactOptional(),
      fromY: at.exactOptional(),
      toX: at.exactOptional(),
      toY: at.exactOptional(),
      path: z.array(z.object(place)).min(2).max(1_000).exactOptional(),
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
  /** The text of the clipboard; "" where it has none. */
  "computer.clipboardGet": { params: nothing, result: z.object({ text: z.string() }) },
  "computer.clipboardSet": { params: z.object({ text: z.string() }), result: ok },
  /** From the lowest to the topmost. */
  "computer.windows": {
    params: nothing,
    result: z.object({ windows: z.array(WindowInfo), truncated: z.boolean() }),
  },
  "computer.focus": { params: z.object({ id: WindowId }), result: ok },
  /** Moves and resizes a window where that is asked for, and tells where it is then. */
  "computer.geometry": {
    params: z.object({
      id: WindowId,
      ...here,
      width: side.exactOptional(),
      height: side.exactOptional(),
    }),
    result: z.object(geometry),
  },
  "computer.processes": {
    params: nothing,
    result: z.object({ processes: z.array(DesktopProcess), truncated: z.boolean() }),
  },
  "computer.ports": {
    params: nothing,
    result: z.object({ ports: z.array(DesktopPort), truncated: z.boolean() }),
  },
  /** Starts a program, or what opens a URL, a file or a folder. */
  "computer.open": {
    params: z.object({
      target: z
        .string()
        .min(1)
        .max(4096)
        .regex(/^[^\0]*$/, "has a NUL character"),
      args: z
        .array(z.string().regex(/^[^\0]*$/, "has a NUL character"))
        .max(100)
        .default([]),
    }),
    result: z.object({ pid: z.int() }),
  },
  /**
   * Waits until the screen has not changed for `stillMs`. A change of up to `tolerance` of all pixels at once is none: a
   * cursor that blinks, a clock. A screen that has not come to rest after `limitMs` is answered with `still: false`.
   */
  "computer.wait": {
    params: z.object({
      stillMs: z.int().min(100).max(10_000).default(500),
      limitMs: z.int().min(100).max(120_000).default(30_000),
      tolerance: z.number().min(0).max(1).default(0.001),
    }),
    result: z.object({ still: z.boolean(), waitedMs: z.int() }),
  },
} as const;
