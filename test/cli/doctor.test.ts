// `svc doctor` on this computer, as it is, and a service that is up, down, or refuses the key.
import { once } from "node:events";
import { type AddressInfo, type Server, createServer } from "node:net";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { VmGateway } from "../support/process/vm-gateway.ts";
import { ADMIN_TOKEN } from "../support/secrets.ts";
import { Svc } from "./svc.ts";

interface Finding {
  what: string;
  state: string;
  note: string;
  fix?: string;
}

let machines: VmGateway;
beforeAll(async () => {
  machines = await VmGateway.start();
});
afterAll(() => machines?.close());

async function examined(
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; found: Finding[] }> {
  const url = machines.gateway.url.origin;
  const svc = new Svc({ SVC_BASE_URL: url, SVC_API_KEY: machines.key, SVC_PORT: "0", ...env });
  const { code, stdout } = await svc.run(["--json", "doctor"]);
  return { code, found: JSON.parse(stdout) as Finding[] };
}

const of = (found: Finding[], what: string): Finding | undefined =>
  found.find((one) => one.what === what);

test("it says of everything that hosts need how it is, and of what is missing how to mend it", async () => {
  const { code, found } = await examined({ SVC_ADMIN_TOKEN: ADMIN_TOKEN });
  const looked = [
    "Node",
    "browsers",
    "stealth browsers",
    "QEMU",
    "memory",
    "port",
    "gateway",
    "API key",
  ];
  expect(found.map(({ what }) => what)).toEqual(expect.arrayContaining(looked));
  expect(of(found, "Node")).toMatchObject({ state: "ok", note: process.versions.node });
  expect(of(found, "gateway")).toMatchObject({ state: "ok" });
  expect(of(found, "API key")).toMatchObject({ state: "ok" });
  expect(of(found, "registered")?.note).toMatch(/^\S+ \(vm\), heard \d+s ago/);
  const missing = found.filter(({ state }) => state === "missing");
  expect(code).toBe(missing.length > 0 ? 1 : 0);
});

test("a program that is missing turns its kind off, and is named", async () => {
  const { code, found } = await examined({ SVC_CHROMIUM: "/no/such/chromium" });
  expect(code).toBe(1);
  expect(of(found, "browsers")).toMatchObject({
    state: "missing",
    note: expect.stringContaining("/no/such/chromium"),
  });
});

test("a port that another program has is missing, and the next free one is proposed", async () => {
  const [taken, next] = await neighbours();
  const port = portOf(taken);
  const { found } = await examined({ SVC_PORT: String(port) });
  const proposed = /^SVC_PORT=(\d+) npm start$/.exec(of(found, "port")?.fix ?? "")?.[1];
  taken.close();
  next.close();
  expect(of(found, "port")).toMatchObject({
    state: "missing",
    note: `${port} cannot be used (EADDRINUSE): another program has it`,
  });
  expect(Number(proposed)).toBeGreaterThan(port + 1);
  const own = await examined({ SVC_PORT: machines.gateway.url.port });
  expect(of(own.found, "port")).toMatchObject({ state: "ok" });
});

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/** Two programs on neighbouring ports, whichever are free. */
async function neighbours(): Promise<[Server, Server]> {
  for (;;) {
    const first = createServer().listen(0, "127.0.0.1");
    await once(first, "listening");
    const second = createServer().listen(portOf(first) + 1, "127.0.0.1");
    const isThere = await once(second, "listening").then(
      () => true,
      () => false,
    );
    if (isThere) return [first, second];
    first.close();
  }
}

test("--fix prints the line that installs what is missing, where it may not install", async () => {
  const svc = new Svc({ SVC_BASE_URL: machines.gateway.url.origin, SVC_API_KEY: machines.key });
  // A computer that has a package manager, and nothing else.
  const bare = await mkdtemp(join(tmpdir(), "svc-bare-"));
  await writeFile(join(bare, "apt-get"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  const env = { PATH: bare, SVC_PORT: "0", SVC_NO_INSTALL: "1" };
  const { code, stdout, stderr } = await svc.run(["--json", "doctor", "--fix"], { env });
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^sandboxes are off.*: sudo apt-get install .*qemu-system-x86/m),
  ]);
  const found = JSON.parse(stdout) as Finding[];
  expect(of(found, "QEMU")).toMatchObject({
    fix: expect.stringMatching(/^sudo apt-get install .*qemu-system-x86/),
  });
});

test("start and host run the project's own programs, and end as they do", async () => {
  const svc = new Svc();
  const env = { SVC_STATE_DIR: join(svc.config, "state"), SVC_PORT: machines.gateway.url.port };
  const start = await svc.run(["start"], { env });
  expect([start.code, start.stderr]).toEqual([1, expect.stringContaining("is taken")]);
  for (const host of ["pool", "vm"]) {
    const { code, stderr } = await svc.run(["host", host], { env });
    expect([code, stderr]).toEqual([1, expect.stringContaining("SVC_GATEWAY_URL")]);
  }
});

test("a key that is not taken, and a service that is not there, are missing", async () => {
  const wrong = await examined({ SVC_API_KEY: "svc_live_wrong" });
  expect(of(wrong.found, "API key")).toMatchObject({ state: "missing", fix: "svc login" });
  const away = await examined({ SVC_BASE_URL: "http://127.0.0.1:1" });
  expect([away.code, of(away.found, "gateway")?.fix]).toEqual([
    1,
    expect.stringMatching(/^svc start/),
  ]);
  expect(of(away.found, "API key")).toBeUndefined();
});

test("for a person it is a line each, without colours in a pipe", async () => {
  const svc = new Svc({ SVC_BASE_URL: machines.gateway.url.origin, SVC_API_KEY: machines.key });
  const { stdout } = await svc.run(["doctor"]);
  expect(stdout).toMatch(/^✔ Node +\d+/);
  expect(stdout).toMatch(/\n\n\d+ fine[^\n]*\n$/);
  expect(stdout).not.toContain("\u001b");
});
