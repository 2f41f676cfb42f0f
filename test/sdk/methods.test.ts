// Each method of the control channel has its method in the sdk, whose parameters the contract accepts: checked by the contract's own server.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { METHODS } from "@svc/contract/control-channel/methods.ts";
import { type Method, RpcServer } from "@svc/contract/control-channel/rpc-server.ts";
import { ConnectionError, type Sandbox, Svc, TimeoutError } from "@svc/sdk/index.ts";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { WebSocketServer } from "ws";

type Name = keyof typeof METHODS;

// For a busy computer: the default is a second.
const SOON = { timeout: 60_000 };

const asked: { method: string; params: unknown }[] = [];
const FILE = {
  name: "a",
  path: "/a",
  type: "file",
  size: 1,
  mode: 0o644,
  mtime: "",
  owner: 0,
  group: 0,
};
/** The fields of each result that the sdk looks at. */
const RESULTS: Partial<Record<Name, object>> = {
  "commands.start": { id: "proc_a", pid: 7 },
  "commands.attach": { exitCode: 0 },
  "commands.list": { processes: [] },
  "code.run": { run: "run_a", context: "default", executionCount: 1 },
  "code.contexts": { contexts: [] },
  "files.stat": FILE,
  "git.log": { commits: [] },
  "pty.open": { id: "pty_a", pid: 8 },
  "pty.attach": { exitCode: 0 },
  "pty.list": { ptys: [] },
  "computer.screenshot": { width: 1, height: 1, format: "png" },
};

const answering = (name: Name): Method => ({
  run: async (params, { stream }) => {
    asked.push({ method: name, params });
    if (isSilent) await new Promise(() => {});
    METHODS[name].params.parse(params);
    if (name === "files.read" || name === "computer.screenshot")
      await stream.write(1, new TextEncoder().encode("bytes"));
    if (name === "files.write") {
      const ended = new Promise<void>((resolve) =>
        stream.onBytes((_channel, bytes) => void (bytes.length === 0 && resolve())),
      );
      await ended;
    }
    return { ok: true, ...RESULTS[name] };
  },
});

const names = Object.keys(METHODS) as Name[];
const server = createServer((_request, response) => {
  response.end(JSON.stringify({ sandboxId: "s1", state: "running" }));
});
let protocol: number = 1;
/** Requests get no answer. */
let isSilent = false;
let connections = 0;
let box: Sandbox;
beforeAll(async () => {
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (client) => {
    connections += 1;
    const wire = {
      sendText: (text: string) => client.send(text),
      sendBinary: (message: Uint8Array) => client.send(message),
      close: (reason: string) => client.close(1002, reason),
      whenWritable: () => null,
    };
    const peer = new RpcServer(wire, new Map(names.map((name) => [name, answering(name)])));
    peer.notify("rpc.hello", { protocol, kind: "desktop", bootId: "b", window: 1, maxFrame: 1 });
    client.on("message", (data: Buffer, isBinary) =>
      isBinary ? peer.binary(data) : peer.text(data),
    );
    client.on("close", () => peer.closed());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  box = await newBox();
});
afterAll(async () => {
  box.close();
  server.closeAllConnections();
  server.close();
});

function newBox(): Promise<Sandbox> {
  const { port } = server.address() as AddressInfo;
  return new Svc({ apiKey: "k", baseUrl: `http://127.0.0.1:${port}` }).sandboxes.connect("s1");
}

const CALLS: Record<Exclude<Name, "code.attach" | "commands.run">, () => Promise<unknown>> = {
  "rpc.ping": async () => (await box.commands.start("cat")).write("a"),
  "commands.start": () => box.commands.start("a", ["b"], { cwd: "/", env: { A: "b" }, tag: "t" }),
  "commands.attach": () => box.commands.run("a"),
  "commands.list": () => box.commands.list(),
  "commands.kill": () => box.commands.kill("proc_a", "SIGHUP"),
  "files.read": () => box.files.readBytes("/a", { offset: 1, length: 2 }),
  "files.write": () => box.files.write("/a", "b", { mode: 0o600, append: true }),
  "files.list": () => box.files.list("/", { depth: 2, limit: 3 }),
  "files.stat": () => box.files.stat("/a"),
  "files.search": () => box.files.search("/", { glob: "*", regex: "a", limit: 2 }),
  "files.mkdir": () => box.files.mkdir("/a"),
  "files.move": () => box.files.move("/a", "/b", { overwrite: true }),
  "files.remove": () => box.files.remove("/a", { recursive: true }),
  "files.watch": () => box.files.watch("/a", { recursive: true }).next(),
  "code.run": () =>
    box.code.run("a", { language: "python", context: "c", cwd: "/", env: {}, timeoutMs: 9 }),
  "code.create": () => box.code.create("c", { language: "bash", cwd: "/", env: {} }),
  "code.contexts": () => box.code.contexts(),
  "code.interrupt": () => box.code.interrupt(),
  "code.restart": () => box.code.restart("c"),
  "code.remove": () => box.code.remove("c"),
  "git.clone": () =>
    box.git.clone("u", "/a", { depth: 1, credentials: { username: "u", password: "p" } }),
  "git.status": () => box.git.status("/a"),
  "git.add": () => box.git.add("/a", ["b"]),
  "git.commit": () =>
    box.git.commit("/a", "m", { author: { name: "n", email: "e" }, allowEmpty: true }),
  "git.push": () => box.git.push("/a", { remote: "r", branch: "b" }),
  "git.pull": () => box.git.pull("/a"),
  "git.checkout": () => box.git.checkout("/a", "r", { create: true }),
  "git.branches": () => box.git.branches("/a"),
  "git.log": () => box.git.log("/a", { limit: 3 }),
  "pty.open": () => box.pty.open({ cols: 10, cmd: "sh", args: [], cwd: "/", env: {} }),
  "pty.attach": () => box.pty.connect("pty_a").wait(),
  "pty.resize": () => box.pty.connect("pty_a").resize(2, 3),
  "pty.close": () => box.pty.connect("pty_a").close(),
  "pty.list": () => box.pty.list(),
  "computer.screen": () => box.computer.screen(),
  "computer.cursor": () => box.computer.cursor(),
  "computer.screenshot": () =>
    box.computer.screenshot({
      format: "jpeg",
      quality: 5,
      region: { x: 0, y: 0, width: 1, height: 1 },
    }),
  "computer.move": () => box.computer.move(1, 2),
  "computer.down": () => box.computer.down("right", { holdMs: 5 }),
  "computer.up": () => box.computer.up(),
  "computer.click": () => box.computer.click({ x: 1, y: 2, count: 2 }),
  "computer.drag": () => box.computer.drag({ fromX: 1, fromY: 2, toX: 3, toY: 4 }),
  "computer.scroll": () => box.computer.scroll({ dy: 3 }),
  "computer.type": () => box.computer.type("text", { delayMs: 1 }),
  "computer.key": () => box.computer.key("ctrl+c", { repeat: 2 }),
  "computer.clipboardGet": () => box.computer.clipboardGet(),
  "computer.clipboardSet": () => box.computer.clipboardSet("a"),
  "computer.windows": () => box.computer.windows(),
  "computer.focus": () => box.computer.focus("0x1"),
  "computer.geometry": () => box.computer.geometry("0x1", { width: 10 }),
  "computer.processes": () => box.computer.processes(),
  "computer.ports": () => box.computer.ports(),
  "computer.open": () => box.computer.open("xterm", ["-e", "top"]),
  "computer.wait": () => box.computer.wait({ stillMs: 100, limitMs: 200 }),
};

test("the sdk has a method for every method of the channel", () => {
  // `code.attach` follows a run whose connection was lost (code.test.ts); `commands.run` cannot be followed, start and attach can.
  expect([...Object.keys(CALLS), "code.attach", "commands.run"].toSorted()).toEqual(
    names.toSorted(),
  );
});

test.each(Object.entries(CALLS))(
  "%s is asked with parameters that the contract accepts",
  async (name, call) => {
    asked.length = 0;
    await call();
    const mine = asked.filter(({ method }) => method === name);
    expect(mine).toHaveLength(1);
    // A path that a test made up is refused by nobody here; shapes are.
    expect(METHODS[name as Name].params.safeParse(mine[0]?.params).error).toBeUndefined();
  },
);

test("a picture comes with its bytes", async () => {
  const { bytes, format } = await box.computer.screenshot();
  expect({ text: new TextDecoder().decode(bytes), format }).toEqual({
    text: "bytes",
    format: "png",
  });
});

test("a machine of another protocol is not called again", async () => {
  protocol = 2;
  const other = await newBox();
  await expect(other.commands.list()).rejects.toThrow(/update the sdk/);
  protocol = 1;
  other.close();
});

const stream = async (): Promise<unknown> => {
  const parts = [];
  for await (const part of box.commands.stream("a")) parts.push(part);
  return parts;
};

test.each<[string, (signal: AbortSignal) => Promise<unknown>]>([
  ["a question", (signal) => box.git.status("/a", { signal })],
  ["a read", (signal) => box.files.readBytes("/a", { signal })],
  ["a read as a stream", (signal) => new Response(box.files.stream("/a", { signal })).text()],
  ["a write", (signal) => box.files.write("/a", "b", { signal })],
  ["a watch", (signal) => box.files.watch("/a", { signal }).next()],
  ["a command", (signal) => box.commands.run("a", [], { signal })],
  ["a command as a stream", (signal) => box.commands.stream("a", [], { signal }).next()],
  ["a start", (signal) => box.commands.start("a", [], { signal })],
  ["a process", (signal) => box.commands.connect("proc_a").wait({ signal })],
  ["the output of a process", (signal) => box.commands.connect("proc_a").output({ signal }).next()],
  ["code", (signal) => box.code.run("a", { signal })],
  ["input of a process", (signal) => box.commands.connect("proc_a").write("a", { signal })],
  ["input of a terminal", (signal) => box.pty.connect("pty_a").write("a", { signal })],
  ["a terminal", (signal) => box.pty.open({}, { signal })],
  ["a picture", (signal) => box.computer.screenshot({}, { signal })],
])(
  "%s that is aborted ends at once with the signal's reason, and is cancelled",
  async (_name, call) => {
    isSilent = true;
    asked.length = 0;
    const abort = new AbortController();
    const reason = new Error("enough");
    const called = call(abort.signal);
    called.catch(() => {});
    await vi.waitFor(() => expect(asked).not.toEqual([]), SOON);
    abort.abort(reason);
    await expect(called).rejects.toBe(reason);
    await expect(call(AbortSignal.abort(reason))).rejects.toBe(reason);
    isSilent = false;
  },
);

test("a deadline is one for everything that a call does", async () => {
  isSilent = true;
  await expect(box.files.stat("/a", { timeoutMs: 20 })).rejects.toBeInstanceOf(TimeoutError);
  await expect(box.code.contexts({ timeoutMs: 20 })).rejects.toBeInstanceOf(TimeoutError);
  isSilent = false;
  expect(await stream()).toEqual([]);
});

test("closing ends what goes on, and opens no socket again", async () => {
  isSilent = true;
  const other = await newBox();
  const going = [
    other.commands.connect("proc_a").wait(),
    other.code.run("a"),
    other.files.watch("/a").next(),
    other.git.status("/a"),
  ];
  const ended = Promise.allSettled(going);
  asked.length = 0;
  await vi.waitFor(() => expect(asked).toHaveLength(going.length), SOON);
  const before = connections;
  other.close();
  for (const one of await ended) expect(one).toMatchObject({ reason: expect.any(ConnectionError) });
  expect(connections).toBe(before);
  isSilent = false;
  expect(await other.commands.list()).toEqual([]);
  other.close();
});
