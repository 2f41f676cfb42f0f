import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { ErrorBody } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { ExecResult } from "@svc/contract/vm/exec.ts";
import { SignedFileUrl } from "@svc/contract/vm/files.ts";
import { Preview } from "@svc/contract/vm/preview.ts";
import { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import type { TestGateway } from "../support/process/gateway.ts";
import { killIfThere } from "../support/process/process-tree.ts";
import { firstResponse, parseRaw } from "../support/process/raw-http.ts";
import { RealMachines } from "../support/process/real-machines.ts";
import type { VmHostProcess } from "../support/process/vm-host.ts";
import { missingMachine } from "../vm-host/rig/needs.ts";

// Emulated machines on a busy computer: waits are for what happens, these only end what never does.
const PATIENCE = { timeout: 300_000, interval: 500 };
const LONG = 900_000;

/** A server that says what it was asked, and has one event to tell. */
const SERVER = `
import http.server, json, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        size = int(self.headers.get("content-length", 0))
        body = json.dumps({"path": self.path, "headers": self.headers.items(), "bytes": len(self.rfile.read(size))}).encode()
        self.send_response(201)
        self.send_header("content-length", str(len(body)))
        self.send_header("set-cookie", "a=1")
        self.send_header("set-cookie", "b=2")
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST
http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
`;

describe.skipIf(await missingMachine())("a real sandbox", { timeout: LONG }, () => {
  let gateway: TestGateway;
  let host: VmHostProcess;
  let call: RealMachines["call"];
  let machines: RealMachines;
  let made: SandboxCreated;

  beforeAll(async () => {
    machines = await RealMachines.start({ SVC_PREVIEW_DOMAIN: "preview.localhost" });
    ({ gateway, host, call } = machines);
    made = await create();
  }, LONG);
  afterAll(() => machines?.close());

  /** While the host has none ready it says that it will be able to. */
  async function create(): Promise<SandboxCreated> {
    const response = await vi.waitFor(async () => {
      const answer = await call("/sandboxes", "POST");
      if (answer.status >= 500) throw new Error(await answer.text());
      return answer;
    }, PATIENCE);
    return SandboxCreated.parse(await response.json());
  }

  async function exec(id: string, line: string): Promise<ExecResult> {
    const body = { cmd: "sh", args: ["-c", line] };
    const answer = await call(`/sandboxes/${id}/exec`, "POST", body);
    return ExecResult.parse(await answer.json());
  }

  async function run(line: string): Promise<string> {
    const { stdout, stderr } = await exec(made.sandboxId, line);
    return (stdout + stderr).trim();
  }

  async function urlOf(mode: "download" | "upload", path: string): Promise<string> {
    const query = `?path=${encodeURIComponent(path)}`;
    const answer = await call(`/sandboxes/${made.sandboxId}/files/${mode}-url${query}`);
    return SignedFileUrl.parse(await answer.json()).url;
  }

  const put = async (path: string, body: Buffer | string) =>
    fetch(await urlOf("upload", path), { method: "PUT", body });
  const get = async (path: string) => fetch(await urlOf("download", path));
  const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

  test("takes 32 MiB and gives it back, byte for byte, in folders made for it", async () => {
    const bytes = randomBytes(LIMITS.fileBodyBytes);
    const path = "/root/new/folder/größe.bin";
    const up = await put(path, bytes);
    expect(await up.json()).toEqual({ ok: true, path, bytes: bytes.length });
    expect(await run(`sha256sum '${path}' | cut -c1-64`)).toBe(sha256(bytes));
    const down = await get(path);
    expect(down.headers.get("content-disposition")).toContain(
      "filename*=UTF-8''gr%C3%B6%C3%9Fe.bin",
    );
    expect(sha256(Buffer.from(await down.arrayBuffer()))).toBe(sha256(bytes));
  });

  test("lets an empty upload clear a file", async () => {
    await put("/root/a", "something");
    expect(await (await put("/root/a", "")).json()).toMatchObject({ bytes: 0 });
    const down = await get("/root/a");
    expect([down.status, await down.text()]).toEqual([200, ""]);
  });

  test.each([
    ["a file that is not there", "/nowhere/x", 404],
    ["what is below a file", "/etc/passwd/x", 404],
  ])("has nothing to fetch of %s", async (_name, path, status) => {
    const answer = await get(path);
    expect([answer.status, await answer.json()]).toMatchObject([status, { code: "NotFound" }]);
  });

  test.each([
    ["a folder", "/root"],
    ["what is below a file", "/etc/passwd/x/y"],
    ["what is right below a file", "/etc/passwd/x"],
    ["a name that is too long", `/root/${"x".repeat(300)}`],
  ])("lets nobody write %s", async (_name, path) => {
    const answer = await put(path, "x");
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: "GuestRefused" }]);
  });

  test("shows a port once something listens there, and shows it nothing of ours", async () => {
    const minted = await call(`/sandboxes/${made.sandboxId}/ports/8000`);
    const { url, token } = Preview.parse(await minted.json());
    const { hostname, port } = gateway.url;
    const { host: name } = new URL(url);
    async function ask(method: string, body = ""): Promise<[IncomingMessage, string]> {
      const path = `/a%2Fb?x=%20&svc_token=${token}`;
      const headers = { host: name, authorization: "Basic abc", "content-length": body.length };
      const asked = httpRequest({ hostname, port, method, path, headers });
      asked.end(body);
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      return [answer, await text(answer)];
    }
    expect((await ask("GET"))[0].statusCode).toBe(425);
    await put("/root/server.py", SERVER);
    await run("nohup python3 /root/server.py >/root/log 2>&1 &");
    const [answer, body] = await vi.waitFor(async () => {
      const found = await ask("POST", "hello");
      if (found[0].statusCode !== 201) throw new Error(`${found[0].statusCode} ${found[1]}`);
      return found;
    }, PATIENCE);
    const seen = JSON.parse(body) as { path: string; headers: [string, string][]; bytes: number };
    const headers = Object.fromEntries(
      seen.headers.map(([one, value]) => [one.toLowerCase(), value]),
    );
    expect([seen.path, seen.bytes]).toEqual(["/a%2Fb?x=%20", 5]);
    expect(headers).toMatchObject({ host: name, authorization: "Basic abc" });
    expect(body).not.toContain(token);
    expect(body).not.toMatch(/bearer|x-svc|cf-worker/i);
    expect(answer.headers["set-cookie"]).toEqual([
      "a=1",
      "b=2",
      expect.stringMatching(/^svc_token=/),
    ]);
  });

  test("is driven over its control channel", async () => {
    const socket = new WebSocket(made.controlUrl, ["svc.control.v1"]);
    const said = (): Promise<unknown> =>
      once(socket, "message").then(([data]) => JSON.parse(String(data as Buffer)));
    const hello = said();
    await once(socket, "open");
    expect(socket.protocol).toBe("svc.control.v1");
    expect(await hello).toMatchObject({ method: "rpc.hello", params: { kind: "sandbox" } });
    const answer = said();
    const params = { cmd: "echo", args: ["hi"] };
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "commands.run", params }));
    expect(await answer).toMatchObject({ id: 1, result: { exitCode: 0, stdout: "hi\n" } });
    socket.close();
    await once(socket, "close");
  });

  test("whose machine dies under an upload takes neither its host nor the others with it", async () => {
    const { sandboxId } = await create();
    const query = "?path=/root/big";
    const minted = await call(`/sandboxes/${sandboxId}/files/upload-url${query}`);
    const { url } = SignedFileUrl.parse(await minted.json());
    const { port, hostname, host: name, pathname, search } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    const lines = [`PUT ${pathname}${search} HTTP/1.1`, `Host: ${name}`];
    socket.write([...lines, `Content-Length: ${LIMITS.fileBodyBytes}`, "", ""].join("\r\n"));
    // It sends a part, and then stands still: the death is not found out by its next bytes.
    socket.write(Buffer.alloc(4 * 1024 * 1024));
    await vi.waitFor(async () => {
      const { stdout } = await exec(sandboxId, "ls -A /root");
      expect(stdout).toContain(".svc-write-");
    }, PATIENCE);
    const answer = firstResponse(socket);
    for (const pid of await host.machines()) killIfThere(pid);
    const { status, body } = parseRaw(await answer);
    socket.destroy();
    // The host may see the connection break before it knows why.
    expect(["409 NotRunning", "502 HostUnreachable"]).toContain(
      `${status} ${ErrorBody.parse(JSON.parse(body)).code}`,
    );
    await vi.waitFor(async () => {
      const record = await (await call(`/sandboxes/${sandboxId}`)).json();
      expect(record).toMatchObject({ state: "gone", closeReason: "machine_died" });
    }, PATIENCE);
    made = await create();
  });

  test("is gone with all of it when it is deleted", async () => {
    const down = await urlOf("download", "/etc/hostname");
    const socket = new WebSocket(made.controlUrl);
    await once(socket, "open");
    const closed = once(socket, "close");
    expect((await call(`/sandboxes/${made.sandboxId}`, "DELETE")).status).toBe(200);
    expect((await closed)[0]).toBe(4404);
    expect((await fetch(down)).status).toBe(404);
    const refused = new WebSocket(made.controlUrl);
    refused.on("error", () => undefined);
    const [, answer] = (await once(refused, "unexpected-response")) as [unknown, IncomingMessage];
    expect(answer.statusCode).toBe(404);
  });
});
