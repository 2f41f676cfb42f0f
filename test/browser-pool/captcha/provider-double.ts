import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A task as it was asked for. */
export interface AskedTask {
  type: string;
  websiteURL: string;
  websiteKey: string;
  [more: string]: unknown;
}

/** How a provider fails. A text: it answers this error code. */
type Fault = "mute" | "mute result" | "garbage" | "endless" | "lost" | "odd token" | (string & {});

/** A captcha provider on loopback that speaks the dialect of createTask and getTaskResult. Tasks are done at the second question. */
export class ProviderDouble {
  readonly key = "k-1234567890";
  readonly tasks: AskedTask[] = [];
  /** The methods of all calls. */
  readonly calls: string[] = [];
  fault: Fault | null = null;
  /** How many calls of getTaskResult fail before one is answered. */
  lostResults = 0;
  /** Connections that were closed by the other side. */
  left = 0;
  readonly #polls = new Map<string, number>();
  readonly #server = createServer((request, response) => void this.#take(request, response));

  async start(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Forgets what was asked, and fails no more. */
  clear(): void {
    this.tasks.length = 0;
    this.calls.length = 0;
    this.#polls.clear();
    this.fault = null;
    this.lostResults = 0;
    this.left = 0;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("close", () => (this.left += response.writableEnded ? 0 : 1));
    let text = "";
    for await (const piece of request) text += String(piece);
    const method = request.url?.slice(1) ?? "";
    this.calls.push(method);
    const body = JSON.parse(text) as { clientKey: string; task?: AskedTask; taskId?: string };
    const answer = (content: unknown): void => {
      response.setHeader("content-type", "application/json");
      response.end(typeof content === "string" ? content : JSON.stringify(content));
    };
    const refuse = (errorCode: string): void =>
      answer({ errorId: 1, errorCode, errorDescription: `with ${body.clientKey}` });
    if (body.clientKey !== this.key) return refuse("ERROR_KEY_DOES_NOT_EXIST");
    if (this.fault === "mute") return;
    if (this.fault === "garbage") return answer("<html>I am a toaster");
    if (this.fault === "endless") return this.#flood(response);
    if (this.fault === "lost") return void response.destroy();
    if (this.fault?.startsWith("ERROR_")) return refuse(this.fault);
    if (method === "getBalance") return answer({ errorId: 0, balance: 1.5 });
    if (method === "createTask" && body.task) {
      this.tasks.push(body.task);
      return answer({ errorId: 0, taskId: `t${this.tasks.length}` });
    }
    if (this.fault === "mute result") return;
    if (this.lostResults > 0) {
      this.lostResults -= 1;
      return void response.destroy();
    }
    answer(this.#resultOf(String(body.taskId)));
  }

  #resultOf(id: string): object {
    const task = this.tasks[Number(id.slice(1)) - 1];
    const polls = (this.#polls.get(id) ?? 0) + 1;
    this.#polls.set(id, polls);
    if (!task) return { errorId: 16, errorCode: "ERROR_NO_SUCH_CAPCHA_ID" };
    if (polls < 2) return { errorId: 0, status: "processing" };
    const token = this.fault === "odd token" ? "<script>" + " ".repeat(9) : tokenOf(task);
    const solution = /turnstile/i.test(task.type) ? { token } : { gRecaptchaResponse: token };
    return { errorId: 0, status: "ready", solution };
  }

  #flood(response: ServerResponse): void {
    const more = (): void => {
      if (!response.destroyed) response.write(" ".repeat(65_536), () => setImmediate(more));
    };
    more();
  }
}

/** The token that solves a task. */
export const tokenOf = ({ type, websiteKey }: Pick<AskedTask, "type" | "websiteKey">): string =>
  `TOKEN.${type}.${websiteKey}`;
