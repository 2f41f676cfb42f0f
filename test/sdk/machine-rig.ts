import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Sandbox, Svc, type SvcOptions } from "@svc/sdk/index.ts";
import type { WebSocket } from "ws";
import { AgentRig } from "../guest-agent/rig.ts";
import { stateFolder } from "../support/process/state-folder.ts";
import { VmGateway } from "../support/process/vm-gateway.ts";

/** Whether a message of a control socket is the one with which its connection is lost. */
export type Cut = (text: string, from: "client" | "guest") => boolean;

/** A sandbox behind a real gateway whose control sockets lead to a real agent. The host between them is a fake that can cut them. */
export class MachineRig {
  readonly gateway: VmGateway;
  readonly agent: AgentRig;
  readonly #stateDir: string;
  readonly #clients = new Set<WebSocket>();
  /** Control sockets that were opened. */
  opened = 0;
  /** Bytes of streams that the guest has sent. */
  streamed = 0;
  /** Loses a connection with the message for which it is true: that message is not delivered. Once. */
  cut: Cut | null = null;

  private constructor(gateway: VmGateway, agent: AgentRig, stateDir: string) {
    this.gateway = gateway;
    this.agent = agent;
    this.#stateDir = stateDir;
    gateway.host.guest.onControl = (client) => this.#bridge(client);
  }

  static async start(): Promise<MachineRig> {
    const stateDir = await mkdtemp(join(stateFolder(), "svc-sdk-"));
    const [gateway, agent] = await Promise.all([
      VmGateway.start(stateDir, ["snapshots"]),
      AgentRig.start(),
    ]);
    return new MachineRig(gateway, agent, stateDir);
  }

  svc(options: SvcOptions = {}): Svc {
    const { gateway, key } = this.gateway;
    return new Svc({ apiKey: key, baseUrl: gateway.url.origin, ...options });
  }

  sandbox(): Promise<Sandbox> {
    return this.svc().sandboxes.connect(this.gateway.id);
  }

  /** The folder of the agent: everything there is the test's. */
  get home(): string {
    return this.agent.home;
  }

  /** How many control sockets are open. */
  get open(): number {
    return this.#clients.size;
  }

  /** Loses all control connections, without a word. */
  cutAll(): void {
    for (const client of this.#clients) client.terminate();
  }

  /** Ends the gateway and starts it again, with all its connections. */
  restartGateway(): Promise<void> {
    return this.gateway.restart(this.#stateDir);
  }

  async close(): Promise<void> {
    this.cutAll();
    await this.gateway.close();
    await this.agent.close();
    await rm(this.#stateDir, { recursive: true, force: true });
  }

  #bridge(client: WebSocket): void {
    this.opened += 1;
    this.#clients.add(client);
    const { link } = this.agent.bulk;
    const passes = (text: string, from: "client" | "guest"): boolean => {
      if (!this.cut?.(text, from)) return client.readyState === client.OPEN;
      this.cut = null;
      client.terminate();
      return false;
    };
    const number = link.open((_connection, wire) => {
      client.on("message", (data: Buffer, isBinary) => {
        if (isBinary) wire.sendBinary(data);
        else if (passes(String(data), "client")) wire.sendText(String(data));
      });
      return {
        text: (payload) => {
          const text = Buffer.from(payload).toString();
          if (passes(text, "guest")) client.send(text);
        },
        binary: (message) => {
          this.streamed += message.length;
          client.send(Buffer.from(message));
        },
        closed: () => client.close(1012, "the agent is gone"),
      };
    });
    client.on("close", () => {
      this.#clients.delete(client);
      if (number !== null) link.close(number, "the client is gone");
    });
  }
}
