import { expect } from "vitest";
import WebSocket from "ws";
import type { Rig } from "./rig.ts";

interface Message {
  id?: number;
  params?: { type?: string; guid?: string };
}

/** Speaks Playwright's protocol by hand: what a client could send that its library would not. */
export class RawWire {
  readonly socket: WebSocket;
  readonly #heard: Message[] = [];
  #nextId = 1;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data: Buffer) => void this.#heard.push(JSON.parse(data.toString())));
  }

  /** As a client of this version, past its first words. */
  static async open(rig: Rig, id: string, version: string): Promise<RawWire> {
    const { url, headers } = await rig.socket("ws", id);
    const agent = { "user-agent": `Playwright/${version}.0 (x64)` };
    const wire = new RawWire(new WebSocket(url, { headers: { ...headers, ...agent } }));
    await new Promise((resolve, reject) => {
      wire.socket.once("open", resolve);
      wire.socket.once("error", reject);
    });
    await wire.call("", "initialize", { sdkLanguage: "javascript" });
    return wire;
  }

  /** Sends a call and returns its id. */
  send(guid: string, method: string, params: object): number {
    const id = this.#nextId++;
    this.socket.send(JSON.stringify({ id, guid, method, params, metadata: {} }));
    return id;
  }

  /** The answer as it came. */
  async call(guid: string, method: string, params: object): Promise<string> {
    const id = this.send(guid, method, params);
    const answer = () => this.#heard.find((message) => message.id === id);
    await expect.poll(answer).toBeDefined();
    return JSON.stringify(answer());
  }

  /** All that it was told as an object of a type was made. */
  heardOf(type: string): string {
    return JSON.stringify(this.#heard.filter(({ params }) => params?.type === type));
  }

  /** The first object of a type that it was told of. */
  guidOf(type: string): string | undefined {
    return this.#heard.find(({ params }) => params?.type === type)?.params?.guid;
  }
}
