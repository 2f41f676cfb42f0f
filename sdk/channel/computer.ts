import type { CallOptions } from "../http/deadline.ts";
import type { Params, Result } from "@svc/contract/control-channel/method-types.ts";
import type { Channel } from "./channel.ts";
import { type Answer, asking, type Rest } from "./namespace.ts";

/** A picture of the screen. */
export interface Screenshot extends Result<"computer.screenshot"> {
  /** The file. */
  bytes: Uint8Array;
}

type Button = Params<"computer.down">["button"];

/** The screen, mouse, keyboard and windows of a desktop (docs/DESKTOP.md). Places are pixels. `ControlError`, `DesktopOnly`: it is no desktop. */
export interface Computer extends Asked {
  /** Takes a picture: `format` (png), `quality` of a jpeg (1 to 100), a `region`, a `scale` (0.05 to 1). */
  screenshot(wanted?: Params<"computer.screenshot">, options?: CallOptions): Promise<Screenshot>;
}

interface Asked {
  /** The size of the screen. */
  screen(options?: CallOptions): Answer<"computer.screen">;
  /** The place of the mouse. */
  cursor(options?: CallOptions): Answer<"computer.cursor">;
  /** Moves the mouse. */
  move(x: number, y: number, options?: CallOptions): Answer<"computer.move">;
  /** Presses a button of the mouse (`left` unless said) and holds it: as long as this client is connected, and `holdMs` more. */
  down(
    button?: Button,
    wanted?: Rest<"computer.down", "button">,
    options?: CallOptions,
  ): Answer<"computer.down">;
  /** Lets go of a button of the mouse. */
  up(button?: Button, options?: CallOptions): Answer<"computer.up">;
  /** Clicks, where the mouse is or at `x`, `y`; `count` 2 is a double click. */
  click(wanted?: Params<"computer.click">, options?: CallOptions): Answer<"computer.click">;
  /** Drags with a button held, from place to place or along a `path`, in `durationMs` (300 unless said). */
  drag(wanted: Params<"computer.drag">, options?: CallOptions): Answer<"computer.drag">;
  /** Scrolls by steps of the wheel: `dy` above 0 is down, `dx` above 0 to the right. */
  scroll(wanted: Params<"computer.scroll">, options?: CallOptions): Answer<"computer.scroll">;
  /** Types a text, at most 10,000 characters, with `delayMs` between them. */
  type(
    text: string,
    wanted?: Rest<"computer.type", "text">,
    options?: CallOptions,
  ): Answer<"computer.type">;
  /** Presses a key, or several: `Return`, `ctrl+shift+t`. `ControlError`, `UnknownKey`. */
  key(
    key: string,
    wanted?: Rest<"computer.key", "key">,
    options?: CallOptions,
  ): Answer<"computer.key">;
  /** The text of the clipboard; empty where it has none. */
  clipboardGet(options?: CallOptions): Answer<"computer.clipboardGet">;
  /** Sets the text of the clipboard, at most 1,000,000 bytes. */
  clipboardSet(text: string, options?: CallOptions): Answer<"computer.clipboardSet">;
  /** The windows, from the lowest to the topmost. */
  windows(options?: CallOptions): Answer<"computer.windows">;
  /** Brings a window to the front. */
  focus(id: string, options?: CallOptions): Answer<"computer.focus">;
  /** Moves and resizes a window where that is asked for, and tells where it is then. */
  geometry(
    id: string,
    wanted?: Rest<"computer.geometry", "id">,
    options?: CallOptions,
  ): Answer<"computer.geometry">;
  /** The processes of the desktop. */
  processes(options?: CallOptions): Answer<"computer.processes">;
  /** TCP ports that a program listens on. */
  ports(options?: CallOptions): Answer<"computer.ports">;
  /** Starts a program, or what opens a URL, a file or a folder. */
  open(target: string, args?: string[], options?: CallOptions): Answer<"computer.open">;
  /** Waits until the screen has been still for `stillMs` (500 unless said), or `limitMs` (30,000) are over. */
  wait(wanted?: Params<"computer.wait">, options?: CallOptions): Answer<"computer.wait">;
}

/** The computer of one machine. */
export function computerOf(channel: Channel): Computer {
  const asked = asking<Asked>(channel, "computer", {
    screen: "",
    cursor: "",
    move: "x y",
    down: "button *",
    up: "button",
    click: "*",
    drag: "*",
    scroll: "*",
    type: "text *",
    key: "key *",
    clipboardGet: "",
    clipboardSet: "text",
    windows: "",
    focus: "id",
    geometry: "id *",
    processes: "",
    ports: "",
    open: "target args",
    wait: "*",
  });
  return {
    ...asked,
    screenshot: async (wanted = {}, options = {}) => {
      const [taken, bytes] = await channel.read("computer.screenshot", wanted, options);
      return { ...taken, bytes };
    },
  };
}
