import { joined } from "../bytes.ts";
import type { CallOptions } from "../http/deadline.ts";
import type { MethodName, Params, Result } from "@svc/contract/control-channel/method-types.ts";
import type { Channel } from "./channel.ts";

/** A picture of the screen. */
export interface Screenshot extends Result<"computer.screenshot"> {
  /** The file. */
  bytes: Uint8Array;
}

/** A place on the screen, in pixels from its upper left corner. */
export interface Place {
  x: number;
  y: number;
}

type Button = NonNullable<Params<"computer.down">["button"]>;

/** The screen, mouse and keyboard of a desktop (docs/DESKTOP.md). `ControlError`, `DesktopOnly`: it is no desktop. */
export class Computer {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** The size of the screen, in pixels. */
  screen(options: CallOptions = {}): Promise<Result<"computer.screen">> {
    return this.#channel.ask("computer.screen", {}, options);
  }

  /** Where the mouse is. */
  cursor(options: CallOptions = {}): Promise<Place> {
    return this.#channel.ask("computer.cursor", {}, options);
  }

  /** Takes a picture: `format` (png), `quality` of a jpeg (1 to 100), a `region`, a `scale` (0.05 to 1). */
  async screenshot(
    wanted: Params<"computer.screenshot"> = {},
    options: CallOptions = {},
  ): Promise<Screenshot> {
    const parts: Uint8Array[] = [];
    const onBytes = (_channel: number, bytes: Uint8Array): void => void parts.push(bytes);
    const taken = await this.#channel.ask("computer.screenshot", wanted, options, onBytes);
    return { ...taken, bytes: joined(parts) };
  }

  /** Moves the mouse. */
  move(x: number, y: number, options?: CallOptions): Promise<void> {
    return this.#do("computer.move", { x, y }, options);
  }

  /** Presses a button of the mouse and holds it. */
  down(button: Button = "left", options?: CallOptions): Promise<void> {
    return this.#do("computer.down", { button }, options);
  }

  /** Lets go of a button of the mouse. */
  up(button: Button = "left", options?: CallOptions): Promise<void> {
    return this.#do("computer.up", { button }, options);
  }

  /** Clicks, where the mouse is or at `x`, `y`; `count` 2 is a double click. */
  click(wanted: Params<"computer.click"> = {}, options?: CallOptions): Promise<void> {
    return this.#do("computer.click", wanted, options);
  }

  /** Drags with a button held, in `durationMs` (300 unless said). */
  drag(wanted: Params<"computer.drag">, options?: CallOptions): Promise<void> {
    return this.#do("computer.drag", wanted, options);
  }

  /** Scrolls by steps of the wheel: `dy` above 0 is down, `dx` above 0 to the right. */
  scroll(wanted: Params<"computer.scroll">, options?: CallOptions): Promise<void> {
    return this.#do("computer.scroll", wanted, options);
  }

  /** Types a text, at most 10,000 characters, with `delayMs` between them. */
  type(text: string, wanted: { delayMs?: number } = {}, options?: CallOptions): Promise<void> {
    return this.#do("computer.type", { text, ...wanted }, options);
  }

  /** Presses a key, or several: `Return`, `ctrl+shift+t`. `ControlError`, `UnknownKey`. */
  key(key: string, wanted: { repeat?: number } = {}, options?: CallOptions): Promise<void> {
    return this.#do("computer.key", { key, ...wanted }, options);
  }

  /** The text of the clipboard; empty where it has none. */
  async clipboard(options?: CallOptions): Promise<string> {
    return (await this.#channel.ask("computer.clipboardGet", {}, options)).text;
  }

  /** Sets the text of the clipboard, at most 1,000,000 bytes. */
  setClipboard(text: string, options?: CallOptions): Promise<void> {
    return this.#do("computer.clipboardSet", { text }, options);
  }

  /** The windows, from the lowest to the topmost. */
  windows(options?: CallOptions): Promise<Result<"computer.windows">> {
    return this.#channel.ask("computer.windows", {}, options);
  }

  /** Brings a window to the front. */
  focus(id: string, options?: CallOptions): Promise<void> {
    return this.#do("computer.focus", { id }, options);
  }

  /** Moves and resizes a window where that is asked for, and tells where it is then. */
  geometry(
    id: string,
    wanted: Omit<Params<"computer.geometry">, "id"> = {},
    options?: CallOptions,
  ): Promise<Result<"computer.geometry">> {
    return this.#channel.ask("computer.geometry", { id, ...wanted }, options);
  }

  /** The processes of the desktop. */
  processes(options?: CallOptions): Promise<Result<"computer.processes">> {
    return this.#channel.ask("computer.processes", {}, options);
  }

  /** TCP ports that a program listens on. */
  ports(options?: CallOptions): Promise<Result<"computer.ports">> {
    return this.#channel.ask("computer.ports", {}, options);
  }

  /** Starts a program, or what opens a URL, a file or a folder. */
  open(target: string, args?: string[], options?: CallOptions): Promise<Result<"computer.open">> {
    return this.#channel.ask("computer.open", { target, args }, options);
  }

  /** Waits until the screen has been still for `stillMs` (500 unless said), or `limitMs` (30,000) are over. */
  wait(
    wanted: Params<"computer.wait"> = {},
    options: CallOptions = {},
  ): Promise<Result<"computer.wait">> {
    return this.#channel.ask("computer.wait", wanted, { timeoutMs: Infinity, ...options });
  }

  async #do<Name extends MethodName>(
    method: Name,
    params: Params<Name>,
    options: CallOptions = {},
  ): Promise<void> {
    await this.#channel.ask(method, params, options);
  }
}
