import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { PlaceVm, type VmHeartbeat, type VmPlaced } from "@svc/contract/host-protocol/vms.ts";
import { atEnd } from "../service/endings.ts";
import { HOST_TOKEN } from "../service/lone-gateway.ts";

const BEAT_MS = 5_000;

/** A host without machines that says yes to every create: what fills an org's list in little time. */
export class Filler {
  readonly #gateway: string;
  readonly #bootId = crypto.randomUUID();
  readonly #ids: string[] = [];
  #url = "";
  #seq = 0;
  #draining = false;

  private constructor(gateway: string) {
    this.#gateway = gateway;
  }

  static async start(gateway: string): Promise<Filler> {
    const filler = new Filler(gateway);
    // A gateway may send its next call on a connection just as Node closes it for its idleness.
    const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
      void text(request).then((body) => {
        const id = decodeURIComponent(request.url?.split("/")[2] ?? "");
        if (request.method !== "PUT") return void response.writeHead(204).end();
        response.writeHead(201, { "content-type": "application/json" });
        response.end(JSON.stringify(filler.#place(id, PlaceVm.parse(JSON.parse(body)))));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    filler.#url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await filler.#beat();
    const beats = setInterval(() => void filler.#beat().catch(() => null), BEAT_MS);
    atEnd(() => {
      clearInterval(beats);
      server.closeAllConnections();
      server.close();
    });
    return filler;
  }

  /** Takes no more; what it holds stays. */
  async drain(): Promise<void> {
    this.#draining = true;
    await this.#beat();
  }

  #place(id: string, { cpu, memMb, diskGb, isolation }: PlaceVm): VmPlaced {
    this.#ids.push(id);
    this.#seq += 1;
    const enforcement = { cpu: "vm", memMb: "vm" } as const;
    const got = { cpu, memMb, diskGb, isolation, enforcement, how: "warm", acquiredMs: 0 } as const;
    return { ...got, bootId: this.#bootId, seq: this.#seq };
  }

  async #beat(): Promise<void> {
    this.#seq += 1;
    const body: VmHeartbeat = {
      type: "vm",
      bootId: this.#bootId,
      seq: this.#seq,
      sentAt: Date.now(),
      url: this.#url,
      versions: { qemu: "none" },
      capabilities: [],
      isolation: "uid",
      egress: "off",
      weaknesses: [],
      egressAllow: [],
      warm: 1,
      free: { cpu: 10_000, memMb: 10_000_000, diskGb: 10_000, slots: 10_000 },
      images: [{ name: "base", state: "ready" }],
      draining: this.#draining,
      vms: this.#ids.map((id) => ({ id, state: "running", lastActivityAt: 0 })),
    };
    const response = await fetch(new URL("/internal/hosts/filler/heartbeat", this.#gateway), {
      method: "POST",
      headers: { authorization: `Bearer ${HOST_TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`the heartbeat was answered ${response.status}`);
  }
}
