import { CHANNELS } from "@svc/contract/control-channel/binary-frame.ts";
import type { BytesHandler, Stream } from "@svc/contract/control-channel/stream.ts";
import { type Data, partsOf } from "../bytes.ts";
import { ConnectionError, ControlError } from "../errors.ts";
import type { CallOptions, Limits } from "../http/deadline.ts";
import type { Result } from "@svc/contract/control-channel/method-types.ts";
import { type Channel, sdkError } from "./channel.ts";
import type { Connection } from "./connection.ts";

type Kind = "commands.attach" | "pty.attach";

const ended = (): ControlError => new ControlError("NotRunning", "The program has ended.");

/** Options of an attachment. */
export interface AttachmentOptions extends CallOptions {
  /** The first byte of output that is wanted; both streams are counted together. */
  from?: number | undefined;
  /** Takes output; the next comes when it is done. */
  onBytes?: (channel: 1 | 2, bytes: Uint8Array) => void | Promise<void>;
}

interface Current {
  connection: Connection;
  stream: Stream;
}

/** A process or a terminal that is listened to and written to, over as many connections as it takes. */
export class Attachment<Of extends Kind> {
  readonly #channel: Channel;
  readonly #kind: Of;
  readonly #id: string;
  readonly #options: AttachmentOptions;
  /** Resolves with how the program ended. */
  declare readonly ended: Promise<Result<Of>>;
  /** Bytes of output that were dropped while nobody was connected. */
  lostBytes = 0;
  #from: number;
  #current: Current | null = null;
  #isOver = false;
  #hasEnded = false;
  #wake: () => void = () => {};

  constructor(channel: Channel, kind: Of, id: string, options: AttachmentOptions = {}) {
    this.#channel = channel;
    this.#kind = kind;
    this.#id = id;
    this.#options = options;
    this.#from = options.from ?? 0;
    const { signal, timeoutMs = Infinity } = options;
    this.ended = channel
      .use({ signal, timeoutMs }, (limits) => this.#follow(limits))
      .finally(() => {
        this.#isOver = true;
        this.#wake();
      });
    this.ended.catch(() => {});
  }

  /** Sends input, and waits until the machine has it. A connection that is lost meanwhile is a `ConnectionError`: it may have come. */
  async write(bytes: Uint8Array): Promise<void> {
    const { connection, stream } = await this.#attached();
    const isGone = bytes.length > 0 && !(await stream.write(CHANNELS.input, bytes));
    if (isGone && this.#isOver) throw ended();
    if (isGone) throw new ConnectionError("The connection was lost: the input may have come.");
    // Messages of a connection are read in order: what answers this has what came before it.
    await connection.client.begin("rpc.ping", {}).result.catch((error) => {
      throw sdkError(error);
    });
  }

  /** Sends all of it, part by part. */
  async writeAll(data: Data): Promise<void> {
    for await (const part of partsOf(data)) await this.write(part);
  }

  /** Ends the input of the program. */
  async endInput(): Promise<void> {
    this.#hasEnded = true;
    (await this.#attached()).stream.end(CHANNELS.input);
  }

  async #attached(): Promise<Current> {
    for (;;) {
      if (this.#isOver) throw ended();
      if (this.#current?.connection.isOpen) return this.#current;
      await new Promise<void>((resolve) => {
        const before = this.#wake;
        this.#wake = () => {
          before();
          resolve();
        };
      });
    }
  }

  async #follow(limits: Limits): Promise<Result<Of>> {
    const { onBytes } = this.#options;
    const take: BytesHandler = (channel, bytes) => {
      if (bytes.length === 0 || (channel !== 1 && channel !== 2)) return;
      this.#from += bytes.length;
      return onBytes?.(channel, bytes);
    };
    const attach = (connection: Connection) => {
      const params = { id: this.#id, from: this.#from };
      // The kinds have the same parameters: the types cannot say so.
      const call = this.#channel.begin<Kind>(connection, this.#kind, params, {
        onBytes: take,
        signal: limits.signal,
      });
      connection.hear(call, (method, { stream, to }) => {
        if (method !== "rpc.gap" || stream !== call.id) return;
        this.lostBytes += Number(to) - this.#from;
        this.#from = Number(to);
      });
      this.#current = { connection, stream: call.stream };
      if (this.#hasEnded) call.stream.end(CHANNELS.input);
      const wake = this.#wake;
      this.#wake = () => {};
      wake();
      return call;
    };
    return (await this.#channel.follow(limits, attach, () => this.#from)) as Result<Of>;
  }
}
