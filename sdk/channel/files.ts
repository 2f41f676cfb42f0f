import { CHANNELS } from "@svc/contract/control-channel/binary-frame.ts";
import type { FileEvent } from "@svc/contract/control-channel/file-methods.ts";
import type { Stream } from "@svc/contract/control-channel/stream.ts";
import { type Data, partsOf } from "../bytes.ts";
import { ControlError } from "../errors.ts";
import { type CallOptions, linked } from "../http/deadline.ts";
import type { Params, Result } from "@svc/contract/control-channel/method-types.ts";
import type { Channel } from "./channel.ts";
import type { Connection } from "./connection.ts";
import { type Answer, asking, type Rest } from "./namespace.ts";
import { left, Pipe } from "./pipe.ts";

/** A file, folder or link. */
export type FileEntry = Result<"files.stat">;
/** A hit of a search: a path, or a line in it. */
export type FileMatch = Result<"files.search">["matches"][number];
/** A change that a watch tells of: `overflow` says that some were lost, look again. */
export type FileChange = Omit<FileEvent, "id">;

/** The part of a file that is read, in bytes. */
export interface ReadOptions extends CallOptions {
  offset?: number | undefined;
  length?: number | undefined;
}

/** The bytes that were read of a file, and its facts. */
export interface FilePart extends Result<"files.read"> {
  data: Uint8Array;
}

/** How a file is written. */
export interface WriteOptions extends CallOptions {
  /** Permission bits of a new file: `0o755`. */
  mode?: number | undefined;
  /** Adds to what is there. */
  append?: boolean | undefined;
}

/** Changes that wait for a slow reader of a watch; beyond that one `overflow` stands for them. */
const CHANGES_MOST = 10_000;

class Streams {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** Reads a file as text. */
  async read(path: string, options: ReadOptions = {}): Promise<string> {
    return new TextDecoder().decode(await this.readBytes(path, options));
  }

  /** Reads a file as bytes. */
  async readBytes(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    return (await this.readPart(path, options)).data;
  }

  /** Reads a file, or a part of it, with how many bytes all of it has. Files in `/proc` say 0. */
  async readPart(
    path: string,
    { offset, length, ...options }: ReadOptions = {},
  ): Promise<FilePart> {
    const params = { path, offset, length };
    const [facts, data] = await this.#channel.read("files.read", params, options);
    return { ...facts, data };
  }

  /** Reads a file as a stream, as fast as it is taken. No limit of time unless `timeoutMs` says one; a lost connection is a `ConnectionError`. */
  stream(
    path: string,
    { offset, length, signal, timeoutMs = Infinity }: ReadOptions = {},
  ): ReadableStream<Uint8Array> {
    const abort = linked(signal);
    const pipe = new Pipe<Uint8Array>();
    let isBegun = false;
    const begin = (): void => {
      isBegun = true;
      const params = { path, offset, length };
      const onBytes = (_channel: number, bytes: Uint8Array): Promise<void> | void =>
        bytes.length > 0 ? pipe.push(bytes) : undefined;
      const options = { signal: abort.signal, timeoutMs };
      pipe.endWith(this.#channel.ask("files.read", params, options, onBytes));
    };
    return new ReadableStream(
      {
        async pull(controller) {
          if (!isBegun) begin();
          const { done, value } = await pipe.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: async () => {
          abort.abort(left());
          await pipe.return();
        },
      },
      { highWaterMark: 0 },
    );
  }

  /**
   * Writes a file, folders included, and answers how many bytes. A write that fails or is aborted leaves the old content.
   * Text and bytes are sent again when the connection is lost; a stream, and what is appended, are not.
   */
  async write(path: string, data: Data, options: WriteOptions = {}): Promise<number> {
    const { mode, append, ...rest } = options;
    const isOnce = append === true || data instanceof ReadableStream;
    const { bytes } = await this.#channel.use(rest, (limits) =>
      this.#channel.attempt(limits, !isOnce, (connection) =>
        this.#write(connection, { path, mode, append }, data, limits.signal),
      ),
    );
    return bytes;
  }

  /** Whether a file, folder or link has this path. */
  async exists(path: string, options: CallOptions = {}): Promise<boolean> {
    try {
      await this.#channel.ask("files.stat", { path }, options);
      return true;
    } catch (error) {
      if (error instanceof ControlError && error.code === "NotFound") return false;
      throw error;
    }
  }

  /** Tells of changes until the loop is left, or the signal aborts. What may have been missed is an `overflow`. */
  watch(
    path: string,
    { recursive = false, signal }: { recursive?: boolean; signal?: AbortSignal } = {},
  ): AsyncIterableIterator<FileChange, void> {
    const abort = linked(signal);
    const pipe = new Pipe<FileChange>(() => abort.abort(left()));
    let isOverfull = false;
    const tell = (change: FileChange): void => {
      if (pipe.length < CHANGES_MOST) isOverfull = false;
      else if (isOverfull) return;
      else isOverfull = true;
      void pipe.push(isOverfull ? { type: "overflow", path } : change);
    };
    const wanted = { path, recursive };
    let connections = 0;
    let heard = 0;
    const watching = this.#channel.use({ signal: abort.signal, timeoutMs: Infinity }, (limits) =>
      this.#channel.follow(
        limits,
        (connection) => {
          if ((connections += 1) > 1) tell({ type: "overflow", path });
          const { signal: ends } = limits;
          const call = this.#channel.begin(connection, "files.watch", wanted, { signal: ends });
          connection.hear(call, (method, params) => {
            if (method !== "files.event" || params["id"] !== call.id) return;
            heard += 1;
            const { id: _, ...change } = params as unknown as FileEvent;
            tell(change);
          });
          return call;
        },
        () => heard,
      ),
    );
    pipe.endWith(watching);
    return pipe;
  }

  async #write(
    connection: Connection,
    params: Params<"files.write">,
    data: Data,
    signal: AbortSignal,
  ): Promise<Result<"files.write">> {
    const { stream, result } = this.#channel.begin(connection, "files.write", params, { signal });
    const sent = send(stream, data);
    // A refusal comes before the end of what is sent, and a source that fails before any answer.
    const [answer] = await Promise.all([result, Promise.race([sent, result])]).catch(
      (error: unknown) => {
        sent.catch(() => {});
        result.catch(() => {});
        throw error;
      },
    );
    return answer;
  }
}

interface Asked {
  /** Lists a folder, `depth` levels deep, at most `limit` entries (1,000 unless said). */
  list(
    path: string,
    wanted?: Rest<"files.list", "path">,
    options?: CallOptions,
  ): Answer<"files.list">;
  /** Reads what is known of a file. `ControlError`, `NotFound`: nothing is there. */
  stat(path: string, options?: CallOptions): Answer<"files.stat">;
  /** Searches files below a folder by `glob`, and lines in them by `text` or `regex`. */
  search(
    path: string,
    wanted?: Rest<"files.search", "path">,
    options?: CallOptions,
  ): Answer<"files.search">;
  /** Makes a folder, and those above it. */
  mkdir(path: string, options?: CallOptions): Answer<"files.mkdir">;
  /** Moves a file or a folder. `ControlError`, `AlreadyExists`: something is there, without `overwrite`. */
  move(
    from: string,
    to: string,
    wanted?: Rest<"files.move", "from" | "to">,
    options?: CallOptions,
  ): Answer<"files.move">;
  /** Removes a file, or with `recursive` a folder with all that is in it. */
  remove(
    path: string,
    wanted?: Rest<"files.remove", "path">,
    options?: CallOptions,
  ): Answer<"files.remove">;
}

/** Files in a machine, by absolute paths (docs/CONTROL-CHANNEL.md, Files). */
export interface Files extends Streams, Asked {}

/** The files of one machine. */
export const filesOf = (channel: Channel): Files =>
  Object.assign(
    new Streams(channel),
    asking<Asked>(channel, "files", {
      list: "path *",
      stat: "path",
      search: "path *",
      mkdir: "path",
      move: "from to *",
      remove: "path *",
    }),
  );

/** Sends data as far as the machine takes it. A source that fails must not end the file: its error cancels the write. */
async function send(stream: Stream, data: Data): Promise<void> {
  for await (const part of partsOf(data)) if (!(await stream.write(CHANNELS.input, part))) return;
  stream.end(CHANNELS.input);
}
