// The output of the commands of `svc`: the program on a real gateway, with a VM host that is a fake.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, openSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { METHODS } from "@svc/contract/control-channel/methods.ts";
import { type Method, RpcServer } from "@svc/contract/control-channel/rpc-server.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { WebSocket } from "ws";
import { ADMIN_TOKEN } from "../support/secrets.ts";
import { VmGateway } from "../support/process/vm-gateway.ts";
import { Svc } from "./svc.ts";

let machines: VmGateway;
let svc: Svc;
let id: string;
beforeAll(async () => {
  machines = await VmGateway.start(undefined, ["snapshots", "desktop"]);
  svc = new Svc({ SVC_BASE_URL: machines.gateway.url.origin, SVC_API_KEY: machines.key });
  ({ id } = machines);
});
afterAll(() => machines?.close());

test("a list is a table of whole ids, or an array", async () => {
  const { stdout, stderr } = await svc.run(["sandbox", "ls"]);
  const [head, row] = stdout.split("\n");
  expect(head).toMatch(/^ID +STATE +TEMPLATE +SIZE +CREATED/);
  expect(row).toMatch(new RegExp(`^${id} +running +base +2 cpu, 2048 MiB, 4 GiB +\\d+s ago`));
  expect(stderr).toBe("");
  // eslint-disable-next-line no-control-regex
  expect(stdout).not.toMatch(/\u001b/);
  expect(await svc.json(["sandbox", "ls"])).toMatchObject([{ sandboxId: id, state: "running" }]);
});

test("an empty list is no line on stdout, and says how to make one beside it", async () => {
  const { code, stdout, stderr } = await svc.run(["volume", "ls"]);
  expect([code, stdout]).toEqual([0, ""]);
  expect(stderr).toContain("svc volume create");
  expect(await svc.json(["browser", "ls"])).toEqual([]);
});

test("profiles and volumes are made, listed and removed; an id alone goes to stdout", async () => {
  const profile = (await svc.run(["profile", "create", "shop"])).stdout.trim();
  expect(profile).toMatch(/^prof_\w+$/);
  expect(await svc.json(["profile", "ls"])).toMatchObject([{ id: profile, name: "shop" }]);
  const made = ["volume", "create", "data", "--size", "64", "--label", "of=test"];
  const volume = (await svc.run(made)).stdout.trim();
  const facts = { name: "data", sizeMb: 64, metadata: { of: "test" } };
  expect(await svc.json(["volume", "get", volume])).toMatchObject(facts);
  expect((await svc.run(["volume", "rm", volume])).stdout.trim()).toBe(volume);
  expect((await svc.run(["profile", "rm", profile])).code).toBe(0);
});

test("a sandbox is paused, resumed, snapshot, forked and removed", async () => {
  const wanted = ["--label", "job=a", "--cpu", "1", "--idle", "15m"];
  const made = (await svc.json(["sandbox", "create", ...wanted])) as { sandboxId: string };
  const box = made.sandboxId;
  await svc.json(["sandbox", "pause", box]);
  const paused = await svc.json(["sandbox", "ls", "--label", "job=a", "--state", "paused"]);
  expect(paused).toMatchObject([{ sandboxId: box, cpu: 1 }]);
  await svc.json(["sandbox", "resume", box]);
  const another = await svc.run(["sandbox", "create"]);
  expect(another.stdout).toMatch(/^\S+\n$/);
  expect(another.stderr).toMatch(/^2 cpu, 2048 MiB, 4 GiB; .* in \d+[smh]\n$/);
  await svc.json(["sandbox", "rm", another.stdout.trim()]);
  const snapshot = (await svc.run(["sandbox", "snapshot", box, "--name", "s"])).stdout.trim();
  const fork = (await svc.json(["sandbox", "fork", snapshot])) as { sandboxId: string };
  expect(fork).toMatchObject({ fromSnapshot: snapshot });
  await svc.json(["sandbox", "rm", box, fork.sandboxId]);
  expect(await svc.json(["sandbox", "get", box])).toMatchObject({ state: "gone" });
  expect(await svc.json(["sandbox", "ls"])).toMatchObject([{ sandboxId: id }]);
});

test("a port is a URL that can be given to a program", async () => {
  const { stdout } = await svc.run(["sandbox", "port", id, "3000"]);
  expect(stdout.trim()).toMatch(/^http:\/\/\S+-3000\.preview\.localhost:\d+\/\?svc_token=\S+$/);
  const open = (await svc.run(["sandbox", "port", id, "3000", "--public"])).stdout;
  expect(open).not.toContain("svc_token");
});

test.each([
  [["sandbox", "get", "nobody"]],
  [["sandbox", "rm", "nobody"]],
  [["browser", "get", "nobody"]],
  [["browser", "close", "nobody"]],
  [["volume", "rm", `vol_${"0".repeat(32)}`]],
  [["template", "rm", "tpl_nobody"]],
  [["profile", "rm", "prof_nobody"]],
])("svc %j: an unknown id is one line and 1", async (args) => {
  const { code, stdout, stderr } = await svc.run(args);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^svc: [^\n]+\n$/);
});

test("at the plan's cap it names plan, cap and holders, and what to do", async () => {
  const apiKey = await machines.gateway.newKey("free");
  const env = { SVC_API_KEY: apiKey };
  const { sandboxId } = (await svc.json(["sandbox", "create"], { env })) as { sandboxId: string };
  const { code, stderr } = await svc.run(["sandbox", "create"], { env });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^svc: [^\n]*plan free, cap 1[^\n]*svc sandbox rm ID[^\n]*\n$/);
  expect(stderr).toContain(sandboxId);
});

test.each([
  [["sandbox", "create", "--cpu", "none"], "whole number"],
  [["sandbox", "create", "--idle", "15"], "90s, 15m or 2h"],
  [["sandbox", "create", "--label", "novalue"], "key=value"],
  [["sandbox", "ls", "--state", "sleepy"], "running"],
  [["sandbox", "port", "an-id", "99999"], "1 to 65535"],
  [["browser", "ls", "--limit", "0"], "1 or more"],
  [["template", "build", "nowhere.json"], "ENOENT"],
])("svc %j is 2, and says how it is written", async (args, words) => {
  const { code, stderr } = await svc.run(args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
});

test("a recipe that is no JSON is refused before the service is asked, one with a wrong step by the service", async () => {
  const file = join(svc.config, "recipe.json");
  await writeFile(file, "{name:");
  expect(await svc.run(["template", "build", file])).toMatchObject({ code: 2 });
  await writeFile(file, '{"compiled":{"from":{"template":"base"},"steps":[{"type":"bake"}]}}');
  expect((await svc.run(["template", "build", file])).stderr).toContain('no "name"');
  const { code, stderr } = await svc.run(["template", "build", file, "--name", "mine"]);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^svc: .*steps/)]);
});

test("a build is followed to its end: its log beside, its id as the answer; one that fails says where", async () => {
  const file = join(svc.config, "built.json");
  const step = { type: "run", cmd: "true" };
  const compiled = { from: { template: "base" }, steps: [step, step] };
  await writeFile(file, JSON.stringify({ name: "built", compiled }));
  const { code, stdout, stderr } = await svc.run(["template", "build", file, "--follow"]);
  const id = stdout.trim();
  expect([code, id, stderr]).toEqual([
    0,
    expect.stringMatching(/^tpl_\w+$/),
    expect.stringContaining("did run"),
  ]);
  expect((await svc.run(["template", "logs", id])).stdout).toMatch(/^ 1 did run\n 2 did run\n/m);
  expect((await svc.run(["template", "ls"])).stdout).toMatch(
    new RegExp(`${id} +built +sandbox +ready`),
  );
  machines.host.mode = { ...machines.host.mode, build: "fail" };
  const failed = await svc.run(["template", "build", "-", "--follow", "--skip-cache"], {
    input: JSON.stringify({ name: "bad", compiled }),
  });
  machines.host.mode = { ...machines.host.mode, build: "ok" };
  expect([failed.code, failed.stdout]).toEqual([1, ""]);
  expect(failed.stderr).toMatch(/svc: [^\n]*failed at step 2: false: exit code 1\n$/);
  expect((await svc.run(["template", "rm", id])).code).toBe(0);
});

/** The agent of a desktop, as far as it takes pictures. */
function showPicture(client: WebSocket): void {
  const wire = {
    sendText: (message: string) => client.send(message),
    sendBinary: (message: Uint8Array) => client.send(message),
    close: (reason: string) => client.close(1002, reason),
    whenWritable: () => null,
  };
  const run: Method["run"] = async (params, { stream }) => {
    const { format } = METHODS["computer.screenshot"].params.parse(params);
    await stream.write(1, new TextEncoder().encode(`a picture as ${format}`));
    return { width: 640, height: 360, format };
  };
  const peer = new RpcServer(wire, new Map([["computer.screenshot", { run }]]));
  peer.notify("rpc.hello", { protocol: 1, kind: "desktop", bootId: "b", window: 1, maxFrame: 1 });
  client.on("message", (data: Buffer, isBinary) =>
    isBinary ? peer.binary(data) : peer.text(data),
  );
  client.on("close", () => peer.closed());
}

test("a desktop is led to any VNC viewer on this computer, until Ctrl-C", async () => {
  machines.host.guest.onControl = (screen) => screen.send(Buffer.from("RFB 003.008\n"));
  const { sessionId } = (await svc.json(["desktop", "create"])) as { sessionId: string };
  expect(await svc.json(["desktop", "ls"])).toMatchObject([{ sandboxId: sessionId }]);
  const opened = svc.start(["desktop", "open", sessionId]);
  const [line] = (await once(opened.stdout ?? opened, "data")) as [Buffer];
  const [, port] = /^vnc:\/\/127\.0\.0\.1:(\d+)\n$/.exec(String(line)) ?? [];
  const viewer = connect(Number(port), "127.0.0.1");
  const [greeting] = (await once(viewer, "data")) as [Buffer];
  expect(String(greeting)).toBe("RFB 003.008\n");
  viewer.destroy();
  opened.kill("SIGINT");
  expect(await once(opened, "close")).toEqual([0, null]);
  const { stdout } = await svc.run(["desktop", "open", sessionId, "--url", "--view-only"]);
  expect(stdout).toMatch(/^ws:\/\/\S+\/stream\/\S+\?view=1\n$/);
  machines.host.guest.onControl = showPicture;
  const file = join(svc.config, "screen.jpg");
  const taken = ["desktop", "screenshot", sessionId, "-o", file];
  expect(await svc.json(taken)).toEqual({ file, width: 640, height: 360 });
  expect(await readFile(file, "utf8")).toBe("a picture as jpeg");
  expect((await svc.run(["desktop", "rm", sessionId])).code).toBe(0);
});

test("a viewer whose desktop is gone is told why it sees nothing", async () => {
  const { sessionId } = (await svc.json(["desktop", "create"])) as { sessionId: string };
  const opened = svc.start(["desktop", "open", sessionId]);
  let words = "";
  opened.stderr?.on("data", (part) => (words += String(part)));
  const [line] = (await once(opened.stdout ?? opened, "data")) as [Buffer];
  expect((await svc.run(["desktop", "rm", sessionId])).code).toBe(0);
  const viewer = connect(Number(String(line).trim().split(":").at(-1)), "127.0.0.1");
  await once(viewer, "close");
  opened.kill("SIGINT");
  await once(opened, "close");
  expect(words).toMatch(/^1006 Unexpected server response: \d{3}$/m);
});

test("keys are the operator's: made, used, listed and revoked by its token, and by nothing else", async () => {
  const refused = await svc.run(["keys", "create"]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("SVC_ADMIN_TOKEN")]);
  const env = { SVC_ADMIN_TOKEN: ADMIN_TOKEN };
  const wrong = await svc.run(["keys", "ls"], { env: { SVC_ADMIN_TOKEN: `${ADMIN_TOKEN}x` } });
  expect([wrong.code, wrong.stderr]).toEqual([
    1,
    expect.stringMatching(/^svc: The service does not take the operator's token[^\n]*\n$/),
  ]);
  const several = await svc.run(["keys", "ls"], { env });
  expect([several.code, several.stderr]).toEqual([
    2,
    expect.stringContaining("--org, one of: org_"),
  ]);
  const [, org = ""] = /(org_\w+) \(test\)/.exec(several.stderr) ?? [];
  const key = (await svc.run(["keys", "create", "mine", "--org", org], { env })).stdout.trim();
  expect(await svc.json(["sandbox", "ls"], { env: { SVC_API_KEY: key } })).toBeInstanceOf(Array);
  const listed = (await svc.run(["keys", "ls", "--org", org], { env })).stdout;
  expect(listed).toMatch(/mine/);
  expect(listed).not.toContain(key);
  expect((await svc.run(["keys", "revoke", key], { env })).code).toBe(0);
  expect((await svc.run(["sandbox", "ls"], { env: { SVC_API_KEY: key } })).code).toBe(1);
});

test.skipIf(!existsSync("/dev/full"))("output that cannot be written is no success", async () => {
  const full = openSync("/dev/full", "w");
  const child = spawn(process.execPath, ["cli/main.ts", "sandbox", "--help"], {
    stdio: ["ignore", full, "pipe"],
    env: svc.env(),
  });
  const words = text(child.stderr ?? process.stdin);
  expect([await once(child, "close"), await words]).toEqual([
    [1, null],
    expect.stringMatching(/^svc: The output cannot be written: ENOSPC[^\n]*\n$/),
  ]);
});

test("a pipe that closes ends it quietly", async () => {
  const child = svc.start(["sandbox", "--help"]);
  // Nobody ever reads: the write fails.
  child.stdout?.destroy();
  let words = "";
  child.stderr?.on("data", (part) => (words += String(part)));
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect([code, words]).toEqual([141, ""]);
});
