import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { VmHeartbeat } from "@svc/contract/host-protocol/vms.ts";
import { atEnd } from "../service/endings.ts";

const POLL_MS = 5_000;

/** The smallest gateway that a VM host can join: the bench calls the host itself, as a gateway does. */
export class HeartbeatGateway {
  readonly url: string;
  #last: VmHeartbeat | null = null;
  #watcher: () => void = () => {};

  private constructor(url: string) {
    this.url = url;
  }

  static async start(): Promise<HeartbeatGateway> {
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        // Without an object store: what is measured is the host alone.
        if (!request.url?.endsWith("/heartbeat")) return void response.writeHead(503).end();
        gateway.#hear(VmHeartbeat.parse(JSON.parse(body)));
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ end: [], pollMs: POLL_MS }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    atEnd(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const gateway = new HeartbeatGateway(`http://127.0.0.1:${port}`);
    return gateway;
  }

  /** The last heartbeat, once it is as wanted. */
  async beat(isWanted: (beat: VmHeartbeat) => boolean): Promise<VmHeartbeat> {
    for (;;) {
      if (this.#last && isWanted(this.#last)) return this.#last;
      await new Promise<void>((resolve) => (this.#watcher = resolve));
    }
  }

  #hear(beat: VmHeartbeat): void {
    this.#last = beat;
    this.#watcher();
  }
}
