import { VmPlaced } from "@svc/contract/host-protocol/vms.ts";
import { SCREEN_DEFAULT } from "@svc/contract/vm/machine.ts";
import { mintHostBearer } from "@svc/contract/tokens.ts";
import { writeAgent } from "../../scripts/bundle-agent.ts";
import { tempFolder } from "../service/endings.ts";
import { HOST_TOKEN } from "../service/lone-gateway.ts";
import { type Environment, Program } from "../service/program.ts";
import { HeartbeatGateway } from "./gateway.ts";

const AGENT = "dist/guest-agent/agent.mjs";
const MINUTE = 60_000;

/** Sizes of what is measured: the defaults of a create, which are those of the warm clones. */
export const SIZE = { cpu: 2, memMb: 2048, diskGb: 4 };

/** A real VM host, called as its gateway calls it. */
export class VmHost {
  readonly program: Program;
  readonly gateway: HeartbeatGateway;
  readonly url: string;

  private constructor(program: Program, gateway: HeartbeatGateway, url: string) {
    this.program = program;
    this.gateway = gateway;
    this.url = url;
  }

  /** Returns when machines can be made. */
  static async start(env: Environment = {}): Promise<VmHost> {
    await writeAgent(AGENT);
    const gateway = await HeartbeatGateway.start();
    const program = new Program(["vm-host/main.ts"], {
      SVC_GATEWAY_URL: gateway.url,
      SVC_HOST_TOKEN: HOST_TOKEN,
      SVC_STATE_DIR: tempFolder(),
      SVC_LOG_LEVEL: "warn",
      SVC_WARM_VM: "0",
      SVC_WARM_DESKTOP: "0",
      ...env,
    });
    const host = new VmHost(program, gateway, await program.ready());
    await gateway.beat(({ accel, hint }) => accel !== undefined && hint === undefined);
    return host;
  }

  async call(method: string, path: string, id: string, body?: string | Uint8Array) {
    const claims = { org: "org_bench", id, expiresAt: Date.now() + MINUTE };
    const bearer = await mintHostBearer(HOST_TOKEN, claims);
    const response = await fetch(new URL(path, this.url), {
      method,
      headers: { authorization: `Bearer ${bearer}` },
      ...(body !== undefined && { body }),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (!response.ok) throw new Error(`${response.status} ${Buffer.from(bytes).toString()}`);
    return bytes;
  }

  /** The URL and headers of a machine's control socket, or of its screen. */
  async socket(
    id: string,
    what: "control" | "stream" = "control",
  ): Promise<{ url: string; headers: Record<string, string> }> {
    const url = new URL(`/vms/${id}/${what}`, this.url);
    url.protocol = "ws:";
    const claims = { org: "org_bench", id, expiresAt: Date.now() + MINUTE };
    const bearer = await mintHostBearer(HOST_TOKEN, claims);
    return { url: url.href, headers: { authorization: `Bearer ${bearer}` } };
  }

  async place(id: string, size: Partial<typeof SIZE> = {}): Promise<VmPlaced> {
    const source = { type: "image", name: "base" };
    const common = { kind: "sandbox", source, isolation: "dedicated", envs: {} };
    const body = JSON.stringify({ ...common, ...SIZE, ...size });
    const bytes = await this.call("PUT", `/vms/${id}`, id, body);
    return VmPlaced.parse(JSON.parse(Buffer.from(bytes).toString()));
  }

  /** A desktop of the common size. */
  async placeDesktop(id: string): Promise<VmPlaced> {
    const source = { type: "image", name: "desktop" };
    const common = { kind: "desktop", source, isolation: "dedicated", envs: {} };
    const body = JSON.stringify({ ...common, ...SIZE, resolution: SCREEN_DEFAULT });
    const bytes = await this.call("PUT", `/vms/${id}`, id, body);
    return VmPlaced.parse(JSON.parse(Buffer.from(bytes).toString()));
  }

  async exec(id: string, cmd: string, args: string[] = []): Promise<void> {
    await this.call("POST", `/vms/${id}/exec`, id, JSON.stringify({ cmd, args }));
  }

  async end(id: string): Promise<void> {
    await this.call("DELETE", `/vms/${id}`, id);
  }

  /** A create to the answer of its first command, in ms, and how it was made. */
  async firstExec(id: string, size: Partial<typeof SIZE> = {}) {
    const began = performance.now();
    const { how } = await this.place(id, size);
    await this.exec(id, "/bin/true");
    return { how, ms: performance.now() - began };
  }

  /** Waits until a machine of this size is a clone. */
  async template(size: Partial<typeof SIZE> = {}): Promise<void> {
    for (let tries = 0; tries < 60; tries += 1) {
      const { how } = await this.place("template", size);
      await this.end("template");
      if (how !== "boot") return;
      await new Promise((resolve) => setTimeout(resolve, 2_000));
    }
    throw new Error(`no template: ${this.program.output.slice(-2_000)}`);
  }

  stop(): Promise<void> {
    return this.program.stop();
  }
}
