import { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { beat } from "../fakes/vm-heartbeat.ts";
import { FakeVmHost } from "../fakes/vm-host.ts";
import { testGateway, type TestGateway } from "./gateway.ts";
import { steadyPort } from "./steady-port.ts";

export const PREVIEW_DOMAIN = "preview.localhost";

/** A gateway of a test's own with one fake VM host, and a sandbox there. */
export class VmGateway {
  gateway: TestGateway;
  readonly host: FakeVmHost;
  readonly key: string;
  readonly id: string;
  /** Where the host listens. */
  readonly #url: string;
  /** A host that is not heard for 15 s is away. */
  #beats: NodeJS.Timeout | undefined;

  private constructor(
    gateway: TestGateway,
    { host, url }: { host: FakeVmHost; url: string },
    key: string,
    id: string,
  ) {
    this.gateway = gateway;
    this.host = host;
    this.#url = url;
    this.key = key;
    this.id = id;
  }

  /** `capabilities`: what its host says that it can. */
  static async start(stateDir?: string, capabilities: string[] = []): Promise<VmGateway> {
    const gateway = await open({ port: 0, ...(stateDir !== undefined && { stateDir }) });
    const host = new FakeVmHost(gateway.hostToken);
    host.capabilities = capabilities;
    const url = await host.listen(await steadyPort());
    await beat(gateway, host, url);
    const key = await gateway.newKey();
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(new URL("/sandboxes", gateway.url), { method: "POST", headers });
    const { sandboxId } = SandboxCreated.parse(await answer.json());
    const made = new VmGateway(gateway, { host, url }, key, sandboxId);
    // While it restarts nobody hears it.
    made.#beats = setInterval(() => void beat(made.gateway, host, url).catch(() => null), 5_000);
    return made;
  }

  /** Ends the gateway and starts it again where it was, over the same state. */
  async restart(stateDir: string): Promise<void> {
    const port = Number(this.gateway.url.port);
    await this.gateway.close();
    this.gateway = await open({ port, stateDir });
    // However long that took.
    await beat(this.gateway, this.host, this.#url);
  }

  async close(): Promise<void> {
    clearInterval(this.#beats);
    await this.gateway.close();
    await this.host.close();
  }

  /** `body`: sent as JSON. */
  call(path: string, method = "GET", body?: object, headers = {}): Promise<Response> {
    return fetch(new URL(path, this.gateway.url), {
      method,
      headers: { authorization: `Bearer ${this.key}`, ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  /** A signed URL of a file. */
  async fileUrl(mode: "download" | "upload", path: string): Promise<URL> {
    const query = `?path=${encodeURIComponent(path)}`;
    const response = await this.call(`/sandboxes/${this.id}/files/${mode}-url${query}`);
    const { url } = (await response.json()) as { url: string };
    return new URL(url);
  }
}

const open = (place: { port: number; stateDir?: string }): Promise<TestGateway> =>
  testGateway({ SVC_PREVIEW_DOMAIN: PREVIEW_DOMAIN }, place);
