import { Channel } from "./channel/channel.ts";
import { type Code, codeOf } from "./channel/code.ts";
import { Commands } from "./channel/commands.ts";
import { type Computer, computerOf } from "./channel/computer.ts";
import { type Files, filesOf } from "./channel/files.ts";
import { type Git, gitOf } from "./channel/git.ts";
import { Terminals } from "./channel/pty.ts";
import type { Context } from "./context.ts";
import { Held } from "./dispose.ts";
import type { CallOptions } from "./http/deadline.ts";
import type { RouteRequest } from "./http/client.ts";
import type { Answered, Route, Sent } from "@svc/contract/operations/routes.ts";
import { Preview, type PreviewOptions } from "./preview.ts";
import { Transfer } from "./transfer.ts";

type MachineRoute = Extract<
  Route,
  `${string} /sandboxes/:id${string}` | `${string} /desktops/:id${string}`
>;

/** A microVM: all that sandboxes and desktops have in common. `await using` destroys the machine. */
export abstract class Machine extends Held {
  readonly #context: Context;
  readonly #channel: Channel;
  /** Signed and opaque. */
  declare readonly id: string;
  /** Commands, with streams and signals. */
  declare readonly commands: Commands;
  /** Files inside, over the control channel. */
  declare readonly files: Files;
  /** Files by signed URLs. */
  declare readonly transfer: Transfer;
  /** Code that keeps its variables from run to run. */
  declare readonly code: Code;
  declare readonly git: Git;
  /** Terminals. */
  declare readonly pty: Terminals;
  /** Screen, mouse and keyboard: of desktops alone. */
  declare readonly computer: Computer;

  constructor(context: Context, id: string, controlUrl?: string) {
    super();
    this.#context = context;
    this.id = id;
    const { baseUrl, timeoutMs } = context.http.options;
    // The URL of document 2: the base URL with ws for http.
    const derived = `${baseUrl.replace(/^http/, "ws")}/control/${encodeURIComponent(id)}`;
    this.#channel = new Channel({
      url: controlUrl ?? derived,
      WebSocket: context.WebSocket,
      timeoutMs: timeoutMs ?? 60_000,
      stateOf: async (signal) => (await this.record({ signal, timeoutMs: Infinity })).state,
    });
    this.commands = new Commands(this.#channel);
    this.files = filesOf(this.#channel);
    this.transfer = new Transfer(context.http, id);
    this.code = codeOf(this.#channel);
    this.git = gitOf(this.#channel);
    this.pty = new Terminals(this.#channel);
    this.computer = computerOf(this.#channel);
  }

  /** Reads the machine's record. It counts as use: the idle window begins anew. */
  record(options: CallOptions = {}): Promise<Answered<"GET /sandboxes/:id">> {
    return this.call("GET /sandboxes/:id", options);
  }

  /**
   * Runs one command to its end by a single HTTP request, without a socket. A non-zero exit code is no error. It is not
   * sent again where it may have run: after a 504 and a cut connection.
   */
  exec(
    cmd: string,
    args: string[] = [],
    {
      cwd,
      commandTimeoutMs,
      ...options
    }: CallOptions & {
      cwd?: string;
      /** Then the command is killed and ends with 124. */
      commandTimeoutMs?: number;
    } = {},
  ): Promise<Answered<"POST /sandboxes/:id/exec">> {
    const body = { cmd, args, cwd, timeoutMs: commandTimeoutMs };
    const request = { timeoutMs: Infinity, ...options, body, isUnrepeatable: true } as const;
    return this.call("POST /sandboxes/:id/exec", request);
  }

  /** Processor (percent of all together), memory and disk in bytes. */
  metrics(options: CallOptions = {}): Promise<Answered<"GET /sandboxes/:id/metrics">> {
    return this.call("GET /sandboxes/:id/metrics", options);
  }

  /** Sets the idle window, in milliseconds from now; without one it is the default. Answers when it ends. */
  setTimeout(
    timeoutMs?: number,
    options: CallOptions = {},
  ): Promise<Answered<"POST /sandboxes/:id/timeout">> {
    return this.call("POST /sandboxes/:id/timeout", { ...options, body: { timeoutMs } });
  }

  /** A URL of a TCP port inside. `ApiError` 501: the deployment has no previews. */
  async preview(
    port: number,
    { public: isPublic, ...options }: PreviewOptions & CallOptions = {},
  ): Promise<Preview> {
    const query = { public: isPublic === undefined ? undefined : isPublic ? "1" : "0" };
    const params = { id: this.id, port: String(port) };
    const request = { ...options, params, query };
    return new Preview(await this.#context.http.call("GET /sandboxes/:id/ports/:port", request));
  }

  /** Takes a snapshot of disk and memory; the machine runs on. `sandboxes.create({ fromSnapshot })` forks it. */
  snapshot(
    wanted: Sent<"POST /sandboxes/:id/snapshots"> = {},
    options: CallOptions = {},
  ): Promise<Answered<"POST /sandboxes/:id/snapshots">> {
    const request = { ...options, body: wanted, creates: true, isLong: true } as const;
    return this.call("POST /sandboxes/:id/snapshots", request);
  }

  /** Goes back to one of its own snapshots; a paused machine runs afterwards. Its processes are those of the snapshot. */
  async revert(snapshotId: string, options: CallOptions = {}): Promise<void> {
    const request = { ...options, body: { snapshotId }, isLong: true } as const;
    await this.call("POST /sandboxes/:id/revert", request);
    this.drop();
  }

  /** Ends what this program does over the control channel, and closes its socket. The machine lives on; the next call opens another one. */
  close(): void {
    this.#channel.close();
  }

  /** The machine has closed its sockets, or will soon: the next call is to find another one. */
  protected drop(): void {
    this.#channel.drop();
  }

  /** Calls a route of this machine. */
  protected call<R extends MachineRoute>(route: R, options: RouteRequest<R>): Promise<Answered<R>> {
    return this.#context.http.call(route, { ...options, params: { id: this.id } });
  }

  protected override async detach(): Promise<void> {
    this.close();
  }

  protected async end(): Promise<void> {
    this.close();
    await this.kill();
  }

  /** Destroys the machine; repeating it is fine. An unknown id throws `NotFoundError`. */
  abstract kill(options?: CallOptions): Promise<void>;
}
