import { vi } from "vitest";
import { testGateway, type TestGateway } from "./gateway.ts";
import { VmHostProcess } from "./vm-host.ts";

/** A gateway of a test's own, a real VM host that it places machines on, and an org with a key. */
export class RealMachines {
  readonly gateway: TestGateway;
  readonly host: VmHostProcess;
  readonly key: string;

  private constructor(gateway: TestGateway, host: VmHostProcess, key: string) {
    this.gateway = gateway;
    this.host = host;
    this.key = key;
  }

  /** `vars`: variables of the gateway; `env`: of the host. */
  static async start(
    vars: Record<string, string> = {},
    hostId?: string,
    env: Record<string, string> = {},
  ): Promise<RealMachines> {
    const gateway = await testGateway(vars, { port: 0, isOnDisk: true });
    try {
      const host = await VmHostProcess.start(gateway, hostId, env);
      return new RealMachines(gateway, host, await gateway.newKey());
    } catch (error) {
      await gateway.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.host.close();
    await this.gateway.close();
  }

  /** What the org's customer asks. */
  readonly call = (
    path: string,
    method = "GET",
    body?: object,
    headers: object = {},
  ): Promise<Response> =>
    fetch(new URL(path, this.gateway.url), {
      method,
      headers: { authorization: `Bearer ${this.key}`, ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });

  /** A POST that is asked again while hosts cannot yet, for so many ms. Resolves with the answer that is no refusal. */
  readonly insist = (path: string, body: object | undefined, timeout: number): Promise<Response> =>
    vi.waitFor(
      async () => {
        const answer = await this.call(path, "POST", body);
        if (answer.status >= 300) throw new Error(`${answer.status} ${await answer.text()}`);
        return answer;
      },
      { timeout, interval: 500 },
    );
}
