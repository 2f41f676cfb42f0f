import type { Hello } from "@svc/contract/control-channel/methods.ts";
import { PROTOCOL, SUBPROTOCOL } from "@svc/contract/control-channel/protocol.ts";
import {
  type NotificationHandler,
  type PendingCall,
  RpcCalls,
} from "@svc/contract/control-channel/rpc-calls.ts";
import type { WebSocketClass } from "../context.ts";
import { ConnectionError, SvcError } from "../errors.ts";
import { type CallOptions, within } from "../http/deadline.ts";
import { Socket, type SocketEnd, utf8 } from "../socket.ts";

/** A single socket to a machine, from its opening to its end. */
export class Connection {
  declare readonly client: RpcCalls;
  readonly #listeners = new Set<NotificationHandler>();
  readonly #greeted: Promise<unknown>;
  #greet: (hello: Partial<Hello>) => void = () => {};
  #refuse: (error: unknown) => void = () => {};
  #socket: Socket | null = null;

  private constructor() {
    this.#greeted = new Promise((resolve, reject) => {
      this.#greet = resolve;
      this.#refuse = reject;
    });
    this.#greeted.catch(() => {});
    const wire = {
      sendText: (text: string) => this.#socket?.send(text),
      sendBinary: (message: Uint8Array) => this.#socket?.send(message),
      close: (reason: string) => this.#socket?.close(reason),
      // Credit bounds what is under way; a socket tells no more.
      whenWritable: () => null,
    };
    this.client = new RpcCalls(wire, (method, params) => {
      if (method === "rpc.hello") this.#hello(params);
      for (const listener of this.#listeners) listener(method, params);
    });
  }

  /** Opens a socket and waits for the machine's hello. */
  static open(
    WebSocket: WebSocketClass | undefined,
    url: string,
    options: CallOptions,
  ): Promise<Connection> {
    const connection = new Connection();
    const opening = within(options, async ({ signal }) => {
      const how = { protocol: SUBPROTOCOL, signal };
      connection.#socket = await Socket.open(WebSocket, url, connection.#listener, how);
      await connection.#greeted;
      return connection;
    });
    opening.catch(() => connection.close());
    return opening;
  }

  get isOpen(): boolean {
    return this.#socket?.isOpen === true;
  }

  /** Hears the notifications of the connection while a call goes on. */
  hear({ result }: PendingCall<unknown>, listener: NotificationHandler): void {
    this.#listeners.add(listener);
    const stop = (): void => void this.#listeners.delete(listener);
    result.then(stop, stop);
  }

  close(): void {
    this.#socket?.close("done");
  }

  readonly #listener = {
    onMessage: (data: string | Uint8Array): void =>
      typeof data === "string" ? this.client.text(utf8(data)) : this.client.binary(data),
    onClose: (end: SocketEnd): void => {
      this.#refuse(new ConnectionError(`The socket ended with ${end.code}: ${end.reason}.`));
      this.client.closed();
    },
  };

  #hello(hello: { protocol?: unknown }): void {
    if (hello.protocol === PROTOCOL) this.#greet(hello as Partial<Hello>);
    else this.#refuse(new SvcError("The machine speaks another protocol: update the sdk."));
  }
}
