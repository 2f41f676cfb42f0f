import { mintHostBearer } from "@svc/contract/tokens.ts";
import { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { writeAgent } from "../../scripts/bundle-agent.ts";
import { treeOf } from "../machine/processes.ts";
import { residentMib } from "../machine/memory.ts";
import { tempFolder } from "../service/endings.ts";
import { HOST_TOKEN, type LoneGateway, startGateway } from "../service/lone-gateway.ts";
import { Program } from "../service/program.ts";
import { Filler } from "./filler.ts";

const AGENT = "dist/guest-agent/agent.mjs";
const MINUTE = 60_000;
const TRIES = 300;

export const PREVIEW_DOMAIN = "preview.localhost";

/** The real gateway with a real VM host, and a way to both: as a customer, and as the gateway itself asks the host. */
export class Bed {
  readonly gateway: LoneGateway;
  readonly hostUrl: string;
  readonly orgId: string;
  readonly #key: string;

  private constructor(gateway: LoneGateway, hostUrl: string, key: string, orgId: string) {
    this.gateway = gateway;
    this.hostUrl = hostUrl;
    this.#key = key;
    this.orgId = orgId;
  }

  /** With an org that has `records` sandboxes; the real host joins after that. */
  static async start(records: number): Promise<Bed> {
    await writeAgent(AGENT);
    const gateway = await startGateway({ SVC_PREVIEW_DOMAIN: PREVIEW_DOMAIN });
    const { key } = await gateway.operator.newCustomer({
      vms: 10_000,
      pausedVms: null,
      storedGib: null,
    });
    await fill(gateway.url, key, records);
    const host = new Program(["vm-host/main.ts"], {
      SVC_GATEWAY_URL: gateway.url,
      SVC_HOST_TOKEN: HOST_TOKEN,
      SVC_STATE_DIR: tempFolder(),
      SVC_LOG_LEVEL: "warn",
      SVC_BUILD_IMAGES: "0",
      SVC_WARM_VM: "1",
      SVC_WARM_DESKTOP: "0",
    });
    const hostUrl = await host.ready();
    const bed = new Bed(gateway, hostUrl, key, "org_bench");
    await bed.warm();
    return bed;
  }

  get key(): string {
    return this.#key;
  }

  /** Waits until the host has a machine that waits for an owner. */
  async warm(): Promise<void> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const hosts = await this.gateway.operator.hosts();
      if (hosts.some(({ url, warm = 0 }) => url === this.hostUrl && warm > 0)) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error("no warm machine");
  }

  async create(): Promise<SandboxCreated> {
    const answer = await this.customer("POST", "/sandboxes");
    return SandboxCreated.parse(JSON.parse(Buffer.from(answer).toString()));
  }

  /** Asks the gateway. Throws what is no success. */
  customer(method: string, path: string, body?: string | Uint8Array): Promise<Uint8Array> {
    return send(new URL(path, this.gateway.url), method, this.#key, body);
  }

  /** Asks the host, as the gateway does. */
  async host(method: string, path: string, id: string, body?: string | Uint8Array) {
    const url = new URL(`/vms/${encodeURIComponent(id)}${path}`, this.hostUrl);
    return send(url, method, await this.bearer(id), body);
  }

  bearer(id: string): Promise<string> {
    const claims = { org: this.orgId, id, expiresAt: Date.now() + MINUTE };
    return mintHostBearer(HOST_TOKEN, claims);
  }

  /** Resident memory of workerd, in MiB. */
  workerdMib(): number {
    const pids = treeOf(this.gateway.pid).filter(({ command }) => command.includes("workerd"));
    return Math.max(...pids.map(({ pid }) => residentMib(pid)));
  }
}

async function send(url: URL, method: string, bearer: string, body?: string | Uint8Array) {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${bearer}` },
    ...(body !== undefined && { body }),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (!response.ok)
    throw new Error(`${method} ${url.pathname.slice(0, 40)} answered ${response.status}`);
  return bytes;
}

const AT_ONCE = 8;

async function fill(gateway: string, key: string, count: number): Promise<void> {
  const filler = await Filler.start(gateway);
  let left = count;
  const create = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await send(new URL("/sandboxes", gateway), "POST", key);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, create));
  await filler.drain();
}
