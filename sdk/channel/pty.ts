import type { Data } from "../bytes.ts";
import { type CallOptions, within } from "../http/deadline.ts";
import { Attachment } from "./attachment.ts";
import type { Params, Result } from "@svc/contract/control-channel/method-types.ts";
import type { Channel } from "./channel.ts";
import { left, Pipe } from "./pipe.ts";

/** A terminal that the machine keeps. */
export type TerminalRecord = Result<"pty.list">["ptys"][number];

/** Terminals of a machine. */
export class Terminals {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** Opens a terminal of so many characters: a login shell, or `cmd`. */
  async open(
    wanted: Partial<Params<"pty.open">> = {},
    options: CallOptions = {},
  ): Promise<Terminal> {
    const asked = { cols: 80, rows: 24, ...wanted };
    const { id, pid } = await this.#channel.ask("pty.open", asked, options);
    return new Terminal(this.#channel, id, pid);
  }

  /** A terminal that was opened before: its output is told from the first byte that is kept. */
  connect(id: string, pid = 0): Terminal {
    return new Terminal(this.#channel, id, pid);
  }

  /** Lists the terminals. */
  async list(options: CallOptions = {}): Promise<TerminalRecord[]> {
    return (await this.#channel.ask("pty.list", {}, options)).ptys;
  }
}

/** A terminal. It lives on without this program; `close` ends it. */
export class Terminal implements AsyncIterable<Uint8Array> {
  readonly #channel: Channel;
  readonly #abort = new AbortController();
  declare readonly id: string;
  declare readonly pid: number;
  readonly #pipe = new Pipe<Uint8Array>(() => this.#abort.abort(left()));
  #attachment: Attachment<"pty.attach"> | null = null;

  constructor(channel: Channel, id: string, pid: number) {
    this.#channel = channel;
    this.id = id;
    this.pid = pid;
  }

  /** Reads the output to the end of the program. A single reader gets it, once; a slow reader slows the program down. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, void> {
    this.#attached();
    return this.#pipe;
  }

  /** Types; waits until the machine has it. */
  write(data: Data, options: CallOptions = {}): Promise<void> {
    return within(options, () => this.#attached().writeAll(data));
  }

  /** Changes the size of the terminal, in characters. */
  async resize(cols: number, rows: number, options: CallOptions = {}): Promise<void> {
    await this.#channel.ask("pty.resize", { id: this.id, cols, rows }, options);
  }

  /** Waits for the end of the program. The output has to be read meanwhile. */
  wait(options: CallOptions = {}): Promise<number> {
    return within(options, async () => (await this.#attached().ended).exitCode);
  }

  /** Hangs up: ends every program in it. */
  async close(options: CallOptions = {}): Promise<void> {
    await this.#channel.ask("pty.close", { id: this.id }, options);
  }

  #attached(): Attachment<"pty.attach"> {
    if (this.#attachment) return this.#attachment;
    const attachment = new Attachment(this.#channel, "pty.attach", this.id, {
      signal: this.#abort.signal,
      onBytes: (_channel, bytes) => this.#pipe.push(bytes),
    });
    this.#pipe.endWith(attachment.ended);
    return (this.#attachment = attachment);
  }
}
