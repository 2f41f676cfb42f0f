import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type Server, type Socket, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Channel,
  CHANNELS,
  encodeBinary,
} from "@svc/contract/control-channel/binary-frame.ts";
import { FrameDecoder, type FrameKind, encodeFrame } from "@svc/contract/control-channel/frames.ts";
import {
  FIRST_SYNC_WORD,
  SYNC_WORD_BYTES,
  SyncScanner,
  answerTo,
} from "@svc/contract/control-channel/sync-word.ts";
import { whenDrained } from "@svc/host-kit/drain.ts";
import * as z from "zod";

const Call = z.object({
  id: z.int(),
  method: z.string(),
  params: z.record(z.string(), z.unknown()),
});
const Cancel = z.object({ method: z.literal("rpc.cancel"), params: z.object({ id: z.int() }) });
const Word = z.object({ nextSyncWord: z.string() });

/** A request of the host, or of a customer, that has reached the agent. */
export interface AgentCall extends z.infer<typeof Call> {
  port: AgentPort;
  connection: number;
}

/** Does what an agent of the test's own does with a request. */
export type Conduct = (call: AgentCall) => void;

/** One port of an agent of the test's own: it may say whatever bytes it likes. */
export class AgentPort {
  readonly #socket: Socket;
  readonly #agent: TestAgent;
  readonly #decoder: FrameDecoder;
  #word: Uint8Array = FIRST_SYNC_WORD;
  /** What has come before the host's word; null once it is here. */
  #before: Buffer | null = Buffer.alloc(0);
  /** Finds the host's answers to words of this side: several may be on their way. */
  #echo = new SyncScanner(answerTo(FIRST_SYNC_WORD));

  #drained: Promise<void> | null = null;

  constructor(socket: Socket, agent: TestAgent) {
    this.#socket = socket;
    this.#agent = agent;
    const frame = (connection: number, kind: FrameKind, payload: Uint8Array): void => {
      if (kind === "text") this.#hear(connection, Buffer.from(payload).toString());
    };
    this.#decoder = new FrameDecoder({ frame, fault: () => {} });
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("error", () => socket.destroy());
  }

  get isOver(): boolean {
    return this.#socket.destroyed;
  }

  useWord(word: Uint8Array): void {
    this.#word = word;
    this.#echo = new SyncScanner(answerTo(word));
  }

  /** Writes bytes as they are, and waits until they are gone. */
  async write(bytes: Uint8Array): Promise<void> {
    if (!this.#socket.writable || this.#socket.write(bytes)) return;
    this.#drained ??= whenDrained(this.#socket).finally(() => (this.#drained = null));
    await this.#drained;
  }

  text(connection: number, message: object): Promise<void> {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    return this.write(encodeFrame(connection, "text", Buffer.from(text)));
  }

  bytes(connection: number, stream: number, bytes: Uint8Array, channel: Channel = CHANNELS.output) {
    return this.write(encodeFrame(connection, "binary", encodeBinary(stream, channel, bytes)));
  }

  /** Calls the host to a new life, as an agent that has been started anew: half frames of before are forgotten. */
  async begin(): Promise<void> {
    await this.write(this.#word);
  }

  /** Stops to read, or goes on. */
  pause(isPaused: boolean): void {
    if (isPaused) this.#socket.pause();
    else this.#socket.resume();
  }

  #receive(chunk: Buffer): void {
    if (this.#before) return this.#await(Buffer.concat([this.#before, chunk]));
    const at = this.#echo.push(chunk);
    if (at < 0) return this.#decoder.push(chunk);
    this.#decoder.reset();
    this.#decoder.push(chunk.subarray(at));
  }

  #await(bytes: Buffer): void {
    this.#before = bytes.length < SYNC_WORD_BYTES ? bytes : null;
    if (this.#before) return;
    void this.write(answerTo(bytes.subarray(0, SYNC_WORD_BYTES)));
    this.#decoder.push(bytes.subarray(SYNC_WORD_BYTES));
  }

  #hear(connection: number, text: string): void {
    const message: unknown = JSON.parse(text);
    const { data: call } = Call.safeParse(message);
    if (call) return this.#agent.called({ ...call, port: this, connection });
    const { data: cancel } = Cancel.safeParse(message);
    const error = { code: -32_800, message: "The request was cancelled." };
    if (cancel && this.#agent.confirmsCancels)
      void this.text(connection, { id: cancel.params.id, error });
  }
}

/** The agent of a machine that is nothing but two sockets: its host is real. */
export class TestAgent {
  conduct: Conduct = () => {};
  confirmsCancels = true;
  readonly #folder = mkdtempSync(join(tmpdir(), "hostile-"));
  readonly #servers: Server[] = [];
  readonly #ports: AgentPort[] = [];
  readonly #sockets = new Map<string, Socket>();

  static async start(): Promise<TestAgent> {
    const agent = new TestAgent();
    for (const name of ["control", "bulk"]) await agent.#listen(name);
    return agent;
  }

  /** The host's end of a port. */
  openStream(name: "control" | "bulk"): Socket {
    const socket = this.#sockets.get(name);
    if (!socket) throw new Error("the agent is not up");
    return socket;
  }

  /** Answers what every machine is asked, and leaves the rest to `conduct`. */
  called(call: AgentCall): void {
    const { method, params, id, port, connection } = call;
    if (method === "rpc.ping") return void port.text(connection, { id, result: {} });
    if (method !== "identity.set") return this.conduct(call);
    const word = Buffer.from(Word.parse(params).nextSyncWord, "hex");
    for (const each of this.#ports) each.useWord(word);
    const { generation } = params;
    const result = { generation, tookMs: 0, clockStepMs: 0 };
    void port.text(connection, { id, result });
  }

  close(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
    for (const server of this.#servers) server.close();
    rmSync(this.#folder, { recursive: true });
  }

  async #listen(name: string): Promise<void> {
    const path = join(this.#folder, name);
    const server = createServer().listen(path);
    await once(server, "listening");
    const met = once(server, "connection");
    this.#sockets.set(name, connect(path));
    const [socket] = await met;
    this.#servers.push(server);
    this.#ports.push(new AgentPort(socket, this));
  }
}
