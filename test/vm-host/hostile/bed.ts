import type { Server } from "node:http";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { mintHostBearer } from "@svc/contract/tokens.ts";
import { createLog } from "@svc/host-kit/log.ts";
import { closeServer, listen } from "@svc/host-kit/server.ts";
import type { Machine } from "../../../vm-host/driver.ts";
import { Guest } from "../../../vm-host/guest/guest.ts";
import { newSelf } from "../../../vm-host/guest/identity.ts";
import type { HostParts } from "../../../vm-host/server/call.ts";
import { Vm } from "../../../vm-host/machines/vm.ts";
import { Vms, type VmsOptions } from "../../../vm-host/machines/vms.ts";
import { createFront } from "../../../vm-host/server/front.ts";
import { HOST_TOKEN } from "../../support/secrets.ts";
import { TestAgent } from "./agent.ts";

const ORG = "org_test";
const MINUTE = 60_000;
const log = createLog("vm-host", "fatal");

/** The front of a real host, with machines whose agents are the test's own. */
export class Bed {
  readonly url: string;
  readonly vms: Vms;
  readonly #front: Server;
  readonly #agents: TestAgent[] = [];

  private constructor(front: Server, url: string, vms: Vms) {
    this.#front = front;
    this.url = url;
    this.vms = vms;
  }

  static async start(): Promise<Bed> {
    const records = { checkpointOf: () => ({}), reports: () => [], isPaused: () => false };
    // Of the host only its machines and its front count here.
    const vms = new Vms({
      records,
      recordings: { begin: () => {} },
      log,
      onChange: () => {},
    } as unknown as VmsOptions);
    const parts = { vms } as unknown as HostParts;
    const front = createFront({ ...parts, hostToken: HOST_TOKEN, log });
    const url = await listen(front, { host: "127.0.0.1", port: 0 });
    return new Bed(front, url, vms);
  }

  /** A machine of an agent of the test's own, as it is once it has been placed. */
  async machine(id: string): Promise<{ agent: TestAgent; vm: Vm }> {
    const agent = await TestAgent.start();
    this.#agents.push(agent);
    const openStream = (name: "control" | "bulk") => agent.openStream(name);
    const exited = new Promise<string>(() => {});
    const machine = { name: id, openStream, exited } as unknown as Machine;
    const guest = new Guest(machine);
    await guest.identify(newSelf({ envs: {}, hasNetwork: true }), MINUTE);
    const sizes = { cpu: 2, memMb: 512, diskGb: 4, isolation: "dedicated" } as const;
    const enforcement = { cpu: "vm", memMb: "vm" } as const;
    const vm = new Vm(id, machine, guest, { ...sizes, enforcement, how: "clone", acquiredMs: 0 });
    this.vms.add(vm);
    return { agent, vm };
  }

  /** URL and headers of a call of the gateway. */
  async call(id: string, rest: string): Promise<{ url: URL; headers: { authorization: string } }> {
    const expiresAt = Date.now() + MINUTE;
    const bearer = await mintHostBearer(HOST_TOKEN, { org: ORG, id, expiresAt });
    const url = new URL(`/vms/${id}/${rest}`, this.url);
    return { url, headers: { authorization: `Bearer ${bearer}` } };
  }

  async exec(id: string, cmd: string): Promise<Response> {
    const { url, headers } = await this.call(id, "exec");
    return fetch(url, { method: "POST", headers, body: JSON.stringify({ cmd }) });
  }

  close(): void {
    closeServer(this.#front);
    for (const agent of this.#agents) agent.close();
  }
}

/** Bytes that this process keeps, after what nobody needs is gone: buffers are given back some time after they are found. */
export async function keptBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  for (let times = 0; times < 3; times += 1) {
    collect();
    await setImmediate();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
