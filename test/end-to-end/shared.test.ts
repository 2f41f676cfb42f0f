import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { ExecResult } from "@svc/contract/vm/exec.ts";
import { SignedFileUrl } from "@svc/contract/vm/files.ts";
import { VmMetrics } from "@svc/contract/vm/metrics.ts";
import { Preview } from "@svc/contract/vm/preview.ts";
import { SandboxCreated, SandboxList, SandboxRecord } from "@svc/contract/vm/sandbox.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import type { TestGateway } from "../support/process/gateway.ts";
import { RealMachines } from "../support/process/real-machines.ts";
import { missingMachine } from "../vm-host/rig/needs.ts";

// Emulated machines on a busy computer: waits are for what happens, these only end what never does.
const PATIENCE = { timeout: 300_000, interval: 500 };
const LONG = 900_000;
const MIB = 1024 * 1024;

describe.skipIf(await missingMachine())("a shared sandbox", { timeout: LONG }, () => {
  let gateway: TestGateway;
  let call: RealMachines["call"];
  let machines: RealMachines;
  let made: SandboxCreated;

  beforeAll(async () => {
    machines = await RealMachines.start({ SVC_PREVIEW_DOMAIN: "preview.localhost" });
    ({ gateway, call } = machines);
    made = await create({ isolation: "shared", cpu: 1, envs: { WHO: "one" } });
  }, LONG);
  afterAll(() => machines?.close());

  /** Creates one; while the host prepares its first machine, 503 says that it will be able to. */
  async function create(body: object): Promise<SandboxCreated> {
    const response = await vi.waitFor(async () => {
      const answer = await call("/sandboxes", "POST", body);
      if (answer.status !== 201) throw new Error(await answer.text());
      return answer;
    }, PATIENCE);
    return SandboxCreated.parse(await response.json());
  }

  async function sh(id: string, line: string): Promise<string> {
    const answer = await call(`/sandboxes/${id}/exec`, "POST", { cmd: "sh", args: ["-c", line] });
    expect(answer.status).toBe(200);
    return ExecResult.parse(await answer.json()).stdout;
  }

  /** What a preview's URL shows, without a name server that knows it. */
  async function shown({ host, pathname, search }: URL): Promise<[number | undefined, string]> {
    const { hostname, port } = gateway.url;
    const asked = httpRequest({ hostname, port, path: pathname + search, headers: { host } });
    asked.end();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    return [answer.statusCode, await text(answer)];
  }

  test("its create says what it got, and its record and the list show it", async () => {
    expect(made).toMatchObject({
      kind: "sandbox",
      isolation: "shared",
      enforcement: { cpu: "weight", memMb: "cgroup" },
      cpu: 1,
      memMb: 512,
      diskGb: 4,
    });
    const record = SandboxRecord.parse(await (await call(`/sandboxes/${made.sandboxId}`)).json());
    expect(record).toMatchObject({ state: "running", cpu: 1, memMb: 512, diskGb: 4 });
    const { sandboxes } = SandboxList.parse(await (await call("/sandboxes")).json());
    expect(sandboxes.map(({ sandboxId }) => sandboxId)).toContain(made.sandboxId);
  });

  test("commands, files, previews, metrics and the control channel are its own", async () => {
    const { sandboxId: id } = made;
    expect(await sh(id, "echo $WHO")).toBe("one\n");
    const metrics = VmMetrics.parse(await (await call(`/sandboxes/${id}/metrics`)).json());
    expect(metrics).toMatchObject({ contextScoped: true, memTotalBytes: 512 * MIB });
    const mint = await call(`/sandboxes/${id}/files/upload-url?path=/srv/page`);
    const { url } = SignedFileUrl.parse(await mint.json());
    expect((await fetch(url, { method: "PUT", body: "a page" })).status).toBe(200);
    await sh(id, "cd /srv; python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 &");
    const preview = Preview.parse(await (await call(`/sandboxes/${id}/ports/8000`)).json());
    const page = new URL(preview.url);
    page.pathname = "/page";
    await vi.waitFor(async () => expect(await shown(page)).toEqual([200, "a page"]), PATIENCE);
    const socket = new WebSocket(made.controlUrl);
    const [hello] = await once(socket, "message");
    expect(String(hello)).toContain("rpc.hello");
    socket.terminate();
  });

  test("it pauses while its neighbour runs, and goes on; each ends alone", async () => {
    const { sandboxId: id } = made;
    const other = await create({ isolation: "shared", memMb: 256 });
    await sh(id, "echo kept > /dev/shm/f");
    expect((await call(`/sandboxes/${id}/pause`, "POST")).status).toBe(200);
    expect(await sh(other.sandboxId, "cat /dev/shm/f; echo here")).toBe("here\n");
    expect((await call(`/sandboxes/${id}/resume`, "POST")).status).toBe(200);
    expect(await sh(id, "cat /dev/shm/f")).toBe("kept\n");
    expect((await call(`/sandboxes/${id}`, "DELETE")).status).toBe(200);
    expect(await sh(other.sandboxId, "echo alive")).toBe("alive\n");
    expect((await call(`/sandboxes/${other.sandboxId}`, "DELETE")).status).toBe(200);
  });
});
