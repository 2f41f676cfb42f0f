import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ErrorBody } from "@svc/contract/errors.ts";
import { ExecResult } from "@svc/contract/vm/exec.ts";
import { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { Template, TemplateLogEntry } from "@svc/contract/vm/template.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { RealMachines } from "../support/process/real-machines.ts";
import type { VmHostProcess } from "../support/process/vm-host.ts";
import { missingMachine } from "../vm-host/rig/needs.ts";

// Emulated machines on a busy computer: waits are for what happens, these only end what never does.
const PATIENCE = { timeout: 400_000, interval: 500 };
const LONG = 900_000;

/** A step of a build waits at it until the test opens it. */
class Gate {
  readonly #server = createServer((_request, response) => {
    response.writeHead(this.#isOpen ? 200 : 503).end();
  });
  #isOpen = false;

  static async start(): Promise<Gate> {
    const gate = new Gate();
    gate.#server.listen(0, "127.0.0.1");
    await once(gate.#server, "listening");
    return gate;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** As SVC_EGRESS_ALLOW wants it. */
  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** The command that waits, inside a machine. */
  get wait(): string {
    return `until curl -sfm 10 http://10.0.2.2:${this.#port}/; do sleep 0.2; done`;
  }

  open(): void {
    this.#isOpen = true;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

describe.skipIf(await missingMachine())("a custom template", { timeout: LONG }, () => {
  let host: VmHostProcess;
  let call: RealMachines["call"];
  let machines: RealMachines;

  let gate: Gate;

  beforeAll(async () => {
    gate = await Gate.start();
    machines = await RealMachines.start({}, undefined, { SVC_EGRESS_ALLOW: gate.address });
    ({ host, call } = machines);
  }, LONG);
  afterAll(async () => {
    await machines?.close();
    gate?.close();
  });

  async function begin(compiled: object): Promise<Template> {
    const body = {
      name: "mine",
      memMb: 512,
      compiled: { from: { template: "base" }, ...compiled },
    };
    const response = await call("/templates", "POST", body);
    if (response.status !== 202) throw new Error(await response.text());
    return Template.parse(await response.json());
  }

  const read = async (id: string): Promise<Template> =>
    Template.parse(await (await call(`/templates/${id}`)).json());

  const over = (id: string): Promise<Template> =>
    vi.waitFor(async () => {
      const template = await read(id);
      if (template.state === "building") throw new Error(JSON.stringify(template));
      return template;
    }, PATIENCE);

  /** What a followed log says until the build is over: its lines, and the state at the end. */
  async function followed(id: string): Promise<{ lines: string[]; end: string }> {
    const response = await call(`/templates/${id}/logs`, "GET", undefined, {
      accept: "text/event-stream",
    });
    const events = (await response.text())
      .split("\n\n")
      .filter((text) => /^(id|event):/.test(text));
    const data = events.map((text) => JSON.parse(text.slice(text.indexOf("data: ") + 6)));
    const entries = data.slice(0, -1).map((entry) => TemplateLogEntry.parse(entry));
    return { lines: entries.map(({ step, line }) => `${step} ${line}`), end: data.at(-1).state };
  }

  async function create(template: string): Promise<SandboxCreated> {
    const response = await call("/sandboxes", "POST", { template });
    if (response.status !== 201) throw new Error(await response.text());
    return SandboxCreated.parse(await response.json());
  }

  async function sh(id: string, line: string): Promise<string> {
    const body = { cmd: "bash", args: ["-c", line] };
    const response = await call(`/sandboxes/${id}/exec`, "POST", body);
    const { stdout, stderr } = ExecResult.parse(await response.json());
    return `${stdout}${stderr}`.trim();
  }

  test("is built, its machines answer at once, and go on when it is deleted", async () => {
    const { templateId } = await begin({
      steps: [
        { type: "env", envs: { COLOUR: "blue" } },
        { type: "run", cmd: "mkdir /srv/www && echo made" },
        { type: "write", path: "/srv/www/hello", content: "hello" },
      ],
      start: {
        cmd: "python3 -m http.server 8000 --directory /srv/www",
        ready: { url: "http://127.0.0.1:8000/hello" },
      },
    });
    const { lines, end } = await followed(templateId);
    expect(end).toBe("ready");
    expect(lines).toContain("2 made");
    expect(await read(templateId)).toMatchObject({ state: "ready", step: 3, memMb: 512 });
    const created = await create(templateId);
    expect(created).toMatchObject({ cpu: 2, memMb: 512, diskGb: 4 });
    const answer = await sh(created.sandboxId, "curl -s http://127.0.0.1:8000/hello; echo $COLOUR");
    expect(answer).toBe("helloblue");
    expect((await call(`/templates/${templateId}`, "DELETE")).status).toBe(200);
    const refused = await call("/sandboxes", "POST", { template: templateId });
    expect([refused.status, ErrorBody.parse(await refused.json()).code]).toEqual([404, "NotFound"]);
    expect(await sh(created.sandboxId, "curl -s http://127.0.0.1:8000/hello")).toBe("hello");
    await call(`/sandboxes/${created.sandboxId}`, "DELETE");
  });

  test("whose host is killed in the middle is built to its end, and what was done is not done again", async () => {
    const { templateId } = await begin({
      steps: [
        { type: "run", cmd: "echo first" },
        // It lasts until the kill has found it there.
        { type: "run", cmd: `echo second; ${gate.wait}; echo done` },
      ],
    });
    const page = async (): Promise<string> => (await call(`/templates/${templateId}/logs`)).text();
    await vi.waitFor(async () => expect(await page()).toContain('"line":"second"'), PATIENCE);
    await host.kill("SIGKILL");
    gate.open();
    await host.restart();
    expect(await over(templateId)).toMatchObject({ state: "ready", step: 2 });
    const text = await page();
    expect(text.match(/"line":"first"/g)).toHaveLength(1);
    expect(text.match(/"line":"second"/g)).toHaveLength(2);
    expect(text).toContain("cached: run echo first");
    const { sandboxId } = await create(templateId);
    expect(await sh(sandboxId, "echo here")).toBe("here");
    await call(`/sandboxes/${sandboxId}`, "DELETE");
  });

  test("that is cancelled has no machine any more, and the next one may begin", async () => {
    const { templateId } = await begin({ steps: [{ type: "run", cmd: "echo here; sleep 1000" }] });
    const page = async (): Promise<string> => (await call(`/templates/${templateId}/logs`)).text();
    await vi.waitFor(async () => expect(await page()).toContain('"line":"here"'), PATIENCE);
    const cancelled = await call(`/templates/${templateId}/cancel`, "POST");
    expect([cancelled.status, Template.parse(await cancelled.json()).state]).toEqual([
      202,
      "failed",
    ]);
    const steps = [{ type: "run", cmd: "echo next" }];
    const next = await vi.waitFor(() => begin({ steps }), PATIENCE);
    expect(await over(next.templateId)).toMatchObject({ state: "ready" });
    // The warm one is left.
    await vi.waitFor(async () => {
      expect((await host.machines()).length).toBeLessThanOrEqual(1);
    }, PATIENCE);
  });
});
