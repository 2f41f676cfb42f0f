import { type Socket, connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";

const CONNECT_PAUSE_MS = 3;
// A busy host takes its time; the end of QEMU is noticed at once.
const CONNECT_MS = 60_000;
const ANSWER_MS = 60_000;
const LINE_BYTES = 16 * 1024 * 1024;

const Message = z.object({
  id: z.int().optional(),
  return: z.unknown().optional(),
  error: z.object({ class: z.string(), desc: z.string() }).optional(),
  event: z.string().optional(),
});

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** QEMU's machine protocol: one JSON text a line, answers by id. */
export class Qmp {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  #rest = "";
  #id = 0;
  #isOver = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => this.#read(text));
    socket.on("close", () => this.#end(new Error("QEMU is gone")));
  }

  /** Connects to a machine that is starting, and says hello. */
  static async connect(path: string, gone: AbortSignal): Promise<Qmp> {
    const qmp = new Qmp(await connectUnix(path, gone));
    await qmp.execute("qmp_capabilities");
    return qmp;
  }

  /** Runs a command. Throws what QEMU says of it. */
  execute(command: string, args?: Record<string, unknown>): Promise<unknown> {
    if (this.#isOver) return Promise.reject(new Error("QEMU is gone"));
    this.#id += 1;
    const id = this.#id;
    const message = { execute: command, id, ...(args && { arguments: args }) };
    this.#socket.write(`${JSON.stringify(message)}\n`);
    return new Promise((resolve, reject) => {
      const late = (): void => this.#settle(id)?.reject(new Error(`${command}: no answer`));
      const timer = setTimeout(late, ANSWER_MS);
      const settled = <T>(use: (value: T) => void) => {
        return (value: T): void => {
          clearTimeout(timer);
          use(value);
        };
      };
      this.#waiting.set(id, { resolve: settled(resolve), reject: settled(reject) });
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > LINE_BYTES) this.#socket.destroy();
    for (const line of lines) if (line.trim()) this.#take(line);
  }

  /** A QEMU that says anything else than its protocol is given up: an error here would end the host. */
  #take(line: string): void {
    const { data } = Message.safeParse(jsonOf(line));
    if (!data) return void this.#socket.destroy();
    const { id, error, return: value } = data;
    const waiting = id === undefined ? undefined : this.#settle(id);
    if (error) waiting?.reject(new Error(error.desc));
    else waiting?.resolve(value);
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #end(error: Error): void {
    this.#isOver = true;
    for (const id of this.#waiting.keys()) this.#settle(id)?.reject(error);
  }
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Connects to a socket that is about to be made. */
export async function connectUnix(path: string, gone: AbortSignal): Promise<Socket> {
  const until = Date.now() + CONNECT_MS;
  for (;;) {
    gone.throwIfAborted();
    const socket = await tryConnect(path);
    if (socket) return socket;
    if (Date.now() > until) throw new Error("QEMU did not open its socket");
    await pause(CONNECT_PAUSE_MS);
  }
}

function tryConnect(path: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(socket));
    // For as long as it lives: a machine that is killed resets it, and an error that nobody hears ends the host.
    socket.on("error", () => {
      socket.destroy();
      resolve(null);
    });
  });
}
