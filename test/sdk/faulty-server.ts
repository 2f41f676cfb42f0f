import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** How one request is answered: with a status and a body, or not in order. */
export type Answer =
  | {
      status: number;
      body?: unknown;
      headers?: Record<string, string>;
      text?: string;
      bytes?: Buffer;
    }
  | "reset"
  | "half"
  /** A first part of a body, and then nothing, or the end of the connection. */
  | "begun"
  | "cut"
  | "silence";

/** A request as it came. */
export interface Got {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** A gateway that is told how to answer: one answer a request, the last one for all that follow. */
export class FaultyServer {
  readonly got: Got[] = [];
  answers: Answer[] = [];
  #waiting: (() => void)[] = [];
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  url = "";

  static async start(): Promise<FaultyServer> {
    const server = new FaultyServer();
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    server.url = `http://127.0.0.1:${(server.#server.address() as AddressInfo).port}`;
    return server;
  }

  /** Resolves when so many requests have come. */
  async has(count: number): Promise<void> {
    while (this.got.length < count)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  script(...answers: Answer[]): void {
    this.answers = answers;
    this.got.length = 0;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => {});
    const body = await text(request).catch(() => "");
    const { method = "", url = "", headers } = request;
    this.got.push({ method, path: url, headers, body });
    for (const wake of this.#waiting.splice(0)) wake();
    const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
    if (answer === "silence") return;
    if (answer === undefined || answer === "reset") return void request.socket.destroy();
    if (answer === "half") {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
      return void response.write('{"ok":', () => request.socket.destroy());
    }
    if (answer === "begun" || answer === "cut") {
      response.writeHead(200).write("first");
      if (answer === "cut") setImmediate(() => request.socket.destroy());
      return;
    }
    const words = answer.text ?? (answer.body === undefined ? "" : JSON.stringify(answer.body));
    response.writeHead(answer.status, answer.headers ?? {}).end(answer.bytes ?? words);
  }
}
