import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { descendants } from "../support/process/process-tree.ts";
import { AgentRig, Output } from "./rig.ts";

let rig: AgentRig;
beforeAll(async () => void (rig = await AgentRig.start()));
afterAll(() => rig.close());

const bash = (script: string) => ({ cmd: "bash", args: ["-c", script] });

const gone = (text: string): Promise<void> =>
  expect.poll(() => descendants(rig.pid, text)).toEqual([]);

/** Collects until `bytes` have come, then hangs like a client whose socket is stuck. */
class Until {
  readonly output = new Output();
  readonly reached: Promise<void>;
  constructor(bytes: number) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.reached = promise;
    this.onBytes = (channel, part) => {
      this.output.onBytes(channel, part);
      if (this.output.bytes >= bytes) resolve();
    };
  }
  readonly onBytes: Output["onBytes"];
}

describe("streamed output", () => {
  test("20 MB to a slow consumer is complete and in order, and the command waits", async () => {
    const { client } = rig.bulk.customer();
    let next = 0;
    let waiting = 0;
    const { result } = client.call(
      "commands.run",
      { ...bash("seq -f %07.0f 0 2499999"), stream: true },
      {
        onBytes: async (_channel, bytes) => {
          const text = Buffer.from(bytes).toString("latin1");
          waiting += 1;
          for (let at = (8 - (next % 8)) % 8; at + 8 <= text.length; at += 8)
            if (Number(text.slice(at, at + 7)) !== (next + at) / 8) throw new Error("out of order");
          next += text.length;
          await new Promise(setImmediate);
        },
      },
    );
    expect(await result).toEqual({ exitCode: 0 });
    expect(next).toBe(20_000_000);
    expect(waiting).toBeGreaterThan(300);
  });

  test("a consumer that stops holds its command at the window, and others go on", async () => {
    const { client } = rig.bulk.customer();
    const stuck = Promise.withResolvers<void>();
    const first = Promise.withResolvers<void>();
    let bytes = 0;
    const { result } = client.call(
      "commands.run",
      { ...bash("head -c 20000000 /dev/zero"), stream: true },
      {
        onBytes: (_channel, part) => {
          bytes += part.length;
          first.resolve();
          return stuck.promise;
        },
      },
    );
    await first.promise;
    for (let count = 0; count < 20; count += 1)
      expect(await client.ask("commands.run", bash("echo on"))).toMatchObject({ stdout: "on\n" });
    expect(bytes).toBeLessThanOrEqual(64 * 1024);
    stuck.resolve();
    expect(await result).toEqual({ exitCode: 0 });
    expect(bytes).toBe(20_000_000);
  });

  test("a process that is held keeps all of its output for the first attach, however late", async () => {
    const { client } = rig.bulk.customer();
    const script = "head -c 8000000 /dev/zero; touch $HOME/after";
    const { id } = await client.ask("commands.start", { ...bash(script), hold: true });
    const isAfter = () => client.ask("commands.run", bash("test -e $HOME/after"));
    for (let count = 0; count < 20; count += 1)
      expect(await isAfter()).toMatchObject({ exitCode: 1 });
    const output = new Output();
    const attach = client.call("commands.attach", { id }, { onBytes: output.onBytes });
    expect(await attach.result).toEqual({ exitCode: 0 });
    expect(output.stdout).toHaveLength(8_000_000);
    expect(await isAfter()).toMatchObject({ exitCode: 0 });
    // Nobody is waited for a second time.
    const again = await client.call("commands.attach", { id }, {}).result;
    expect(again).toEqual({ exitCode: 0 });
  });

  test("stdin and its end go to the command", async () => {
    const { client } = rig.bulk.customer();
    const output = new Output();
    const call = client.call(
      "commands.run",
      { ...bash("cat; echo over"), stream: true },
      { onBytes: output.onBytes },
    );
    await call.stream.write(0, Buffer.from("one "));
    await call.stream.write(0, Buffer.alloc(3_000_000, "x"));
    call.stream.end(0);
    expect(await call.result).toEqual({ exitCode: 0 });
    expect(output.stdout).toHaveLength(4 + 3_000_000 + 5);
  });

  test("cancel answers -32800 and the tree is gone", async () => {
    const { client } = rig.bulk.customer();
    const abort = new AbortController();
    const started = Promise.withResolvers<void>();
    const { result } = client.call(
      "commands.run",
      { ...bash("(setsid sleep 86411 &); echo up; sleep 86411"), stream: true },
      { signal: abort.signal, onBytes: () => started.resolve() },
    );
    await started.promise;
    abort.abort();
    await expect(result).rejects.toMatchObject({ code: -32_800 });
    await gone("sleep 86411");
  });

  test("a connection that goes takes its foreground commands along", async () => {
    const { client, connection } = rig.bulk.customer();
    const started = Promise.withResolvers<void>();
    const { result } = client.call(
      "commands.run",
      { ...bash("echo up; sleep 86412"), stream: true },
      { onBytes: () => started.resolve() },
    );
    await started.promise;
    rig.bulk.link.close(connection, "the customer has gone");
    await expect(result).rejects.toMatchObject({ data: { code: "Disconnected" } });
    await gone("sleep 86412");
  });
});

describe("processes with a name", () => {
  test("output is taken up on another connection without a lost or repeated byte", async () => {
    const lines = 3_000;
    const script = `for i in $(seq ${lines}); do echo line$i; echo err$i >&2; done`;
    const { client: first, connection } = rig.bulk.customer();
    const { id } = await first.ask("commands.start", bash(script));
    const until = new Until(5_000);
    const attached = first.call("commands.attach", { id }, { onBytes: until.onBytes });
    await until.reached;
    rig.bulk.link.close(connection, "dropped");
    await expect(attached.result).rejects.toMatchObject({ data: { code: "Disconnected" } });

    const { client: second } = rig.bulk.customer();
    const rest = new Output();
    const from = until.output.bytes;
    const call = second.call("commands.attach", { id, from }, { onBytes: rest.onBytes });
    expect(await call.result).toEqual({ exitCode: 0 });
    const all = (word: string) =>
      Array.from({ length: lines }, (_, at) => `${word}${at + 1}\n`).join("");
    const { output } = until;
    expect(Buffer.concat([output.stdout, rest.stdout]).toString()).toBe(all("line"));
    expect(Buffer.concat([output.stderr, rest.stderr]).toString()).toBe(all("err"));
  });

  test("the last MiB is kept for who comes late, and the gap before it is told", async () => {
    const { client } = rig.bulk.customer();
    const { id } = await client.ask("commands.start", bash("head -c 5000000 /dev/zero; echo end"));
    await expect.poll(() => ended(id)).toBe(true);
    const output = new Output();
    const call = client.call("commands.attach", { id }, { onBytes: output.onBytes });
    expect(await call.result).toEqual({ exitCode: 0 });
    const { params } = await rig.bulk.hears(
      ({ method, params: { stream } }) => method === "rpc.gap" && stream === call.id,
    );
    expect(params["from"]).toBe(0);
    expect(Number(params["to"]) + output.bytes).toBe(5_000_004);
    expect(output.bytes).toBeGreaterThanOrEqual(1024 * 1024 - 64 * 1024);
    expect(output.bytes).toBeLessThanOrEqual(1024 * 1024 + 64 * 1024);
  });

  test("two clients each get everything", async () => {
    const { client } = rig.bulk.customer();
    const { id } = await client.ask("commands.start", bash("read; seq 100000"));
    const outputs = [new Output(), new Output()];
    const calls = outputs.map(({ onBytes }) => client.call("commands.attach", { id }, { onBytes }));
    await calls[0]?.stream.write(0, Buffer.from("go\n"));
    await Promise.all(calls.map(({ result }) => result));
    expect(outputs.map(({ bytes }) => bytes)).toEqual([588_895, 588_895]);
  });

  test("they are listed with tag and exit code, and end by a signal", async () => {
    const { client } = rig.bulk.customer();
    const { id, pid } = await client.ask("commands.start", {
      ...bash("trap 'exit 9' TERM; echo up; while :; do sleep 0.01; done"),
      tag: "web",
    });
    const until = new Until(3);
    const call = client.call("commands.attach", { id }, { onBytes: until.onBytes });
    await until.reached;
    const before = await client.ask("commands.list", {});
    expect(before.processes.find((one) => one.id === id)).toEqual({
      id,
      pid,
      tag: "web",
      cmd: "bash",
      args: expect.any(Array),
      cwd: rig.home,
      startedAt: expect.any(String),
    });
    expect(await client.ask("commands.kill", { id })).toEqual({ ok: true });
    expect(await call.result).toEqual({ exitCode: 9 });
    const after = await client.ask("commands.list", {});
    expect(after.processes.find((one) => one.id === id)).toMatchObject({ exitCode: 9 });
  });

  test("SIGKILL takes the whole tree", async () => {
    const { client } = rig.bulk.customer();
    const { id } = await client.ask(
      "commands.start",
      bash("(setsid sleep 86413 &); sleep 86413 & echo up; wait"),
    );
    const until = new Until(3);
    const call = client.call("commands.attach", { id }, { onBytes: until.onBytes });
    await until.reached;
    await client.ask("commands.kill", { id, signal: "SIGKILL" });
    expect(await call.result).toEqual({ exitCode: 137, signal: "SIGKILL" });
    await gone("sleep 86413");
  });

  test("a program that is missing has an id all the same, and ends with 127", async () => {
    const { client } = rig.bulk.customer();
    const { id } = await client.ask("commands.start", { cmd: "no-such-thing" });
    const output = new Output();
    const call = client.call("commands.attach", { id }, { onBytes: output.onBytes });
    expect(await call.result).toEqual({ exitCode: 127 });
    expect(output.stderr.toString()).toContain("No shell is used");
  });

  test("an unknown id is NotFound", async () => {
    const { client } = rig.bulk.customer();
    const call = client.ask("commands.attach", { id: "proc_0" });
    await expect(call).rejects.toMatchObject({ code: -32_000, data: { code: "NotFound" } });
  });
});

async function ended(id: string): Promise<boolean> {
  const { processes } = await rig.control.host.ask("commands.list", {});
  return processes.some((one) => one.id === id && one.exitCode !== undefined);
}
