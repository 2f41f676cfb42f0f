import type { Data } from "../bytes.ts";
import { type CallOptions, linked, within } from "../http/deadline.ts";
import { Attachment, type AttachmentOptions } from "./attachment.ts";
import type { Params } from "@svc/contract/control-channel/method-types.ts";
import type { Channel } from "./channel.ts";
import { left, Pipe } from "./pipe.ts";

/** How a program ended. */
export interface Exited {
  /** 128 and the signal's number when a signal ended it, 124 at `timeoutMs`, 137 for want of memory, 127 when it is not there. */
  exitCode: number;
  signal?: string;
  timedOut?: true;
  /** The kernel killed it for memory. */
  oom?: true;
  /** Bytes of output that were lost while no connection was there: the machine keeps the last MiB. */
  lostBytes?: number;
}

/** A piece of a program's output. */
export interface Output {
  stream: "stdout" | "stderr";
  /** The piece as text: a character that is cut by the end of a piece comes with the next piece. */
  data: string;
  /** The bytes as they came. */
  bytes: Uint8Array;
}

/** Reads output into a pipe: it takes the next piece when its reader has taken this one. */
export class OutputReader {
  readonly #pipe: Pipe<Output>;
  readonly #decoders = { 1: new TextDecoder(), 2: new TextDecoder() };

  constructor(pipe: Pipe<Output>) {
    this.#pipe = pipe;
  }

  push(channel: 1 | 2, bytes: Uint8Array): Promise<void> {
    const data = this.#decoders[channel].decode(bytes, { stream: true });
    return this.#pipe.push({ stream: channel === 1 ? "stdout" : "stderr", data, bytes });
  }
}

/** A process in a machine. It lives on its own: this only listens, writes and signals. */
export class Process {
  readonly #channel: Channel;
  /** The id under which the machine keeps the process. */
  declare readonly id: string;
  declare readonly pid: number;
  #input: Attachment<"commands.attach"> | null = null;

  constructor(channel: Channel, id: string, pid: number) {
    this.#channel = channel;
    this.id = id;
    this.pid = pid;
  }

  /** Reads the output from byte `from` to its end. A slow reader slows the process down; leaving the loop does not end it. */
  output({ from, signal, timeoutMs }: AttachmentOptions = {}): AsyncIterableIterator<Output, void> {
    const abort = linked(signal);
    const pipe = new Pipe<Output>(() => abort.abort(left()));
    const reader = new OutputReader(pipe);
    const attachment = this.attach({
      from,
      timeoutMs,
      signal: abort.signal,
      onBytes: (channel, bytes) => reader.push(channel, bytes),
    });
    pipe.endWith(attachment.ended);
    return pipe;
  }

  /** Waits for the end of the process. No limit unless `timeoutMs` says one; the process goes on after that. */
  wait(options: CallOptions = {}): Promise<Exited> {
    return this.exited(this.attach(options));
  }

  /** Sends input, and waits until the machine has it. */
  write(data: Data, options: CallOptions = {}): Promise<void> {
    const input = (this.#input ??= this.attach());
    return within(options, () => input.writeAll(data));
  }

  /** Ends the input of the process. */
  endInput(options: CallOptions = {}): Promise<void> {
    const input = (this.#input ??= this.attach());
    return within(options, () => input.endInput());
  }

  /** Sends a signal; `SIGTERM` unless said. */
  async kill(
    signal: NonNullable<Params<"commands.kill">["signal"]> = "SIGTERM",
    options: CallOptions = {},
  ): Promise<void> {
    await this.#channel.ask("commands.kill", { id: this.id, signal }, options);
  }

  /** Listens to the process, over as many connections as it takes. */
  attach(options: AttachmentOptions = {}): Attachment<"commands.attach"> {
    return new Attachment(this.#channel, "commands.attach", this.id, options);
  }

  /** How the process ended, when an attachment tells. */
  async exited(attachment: Attachment<"commands.attach">): Promise<Exited> {
    const exit = await attachment.ended;
    const { lostBytes } = attachment;
    return { ...exit, ...(lostBytes > 0 && { lostBytes }) };
  }
}
