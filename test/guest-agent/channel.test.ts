import { encodeFrame, frameHeader } from "@svc/contract/control-channel/frames.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { descendants } from "../support/process/process-tree.ts";
import { AgentRig, Output, identity, ownSleep } from "./rig.ts";

let rig: AgentRig;
beforeEach(async () => void (rig = await AgentRig.start({ hasIdentity: false })));
afterEach(() => rig.close());

const WORD = Buffer.from("cd".repeat(32), "hex");
const etc = (name: string) => readFile(join(rig.folder, "root", name), "utf8");

describe("identity", () => {
  test("nothing is answered before it is set, everything after", async () => {
    const { client } = rig.control.customer();
    const order: string[] = [];
    const early = [
      rig.control.host.ask("metrics.read", {}).then(() => order.push("metrics")),
      client.ask("commands.run", { cmd: "true" }).then(() => order.push("run")),
      client.ask("rpc.ping", {}).then(() => order.push("ping")),
    ];
    // Asked after the others on the same port, and answered at once.
    await rig.control.host.ask("rpc.ping", {});
    expect(order).toEqual([]);
    await rig.identify();
    await Promise.all(early);
    expect(order.toSorted()).toEqual(["metrics", "ping", "run"]);
    expect(rig.control.heard[0]).toEqual({
      method: "rpc.hello",
      params: {
        protocol: 1,
        kind: "sandbox",
        bootId: "boot-1",
        window: 1 << 20,
        maxFrame: 1 << 20,
      },
    });
  });

  test("clock, names, name servers and environment are set", async () => {
    const done = await rig.identify(identity({ generation: 7 }));
    expect(done.generation).toBe(7);
    expect(rig.clock).toBe("1795816000 123000000");
    expect(await etc("etc/hostname")).toBe("sbx-1\n");
    expect(await etc("proc/sys/kernel/hostname")).toBe("sbx-1");
    expect(await etc("etc/machine-id")).toBe("0123456789abcdef0123456789abcdef\n");
    expect(await etc("etc/resolv.conf")).toBe("nameserver 10.0.2.3\n");
    expect(await etc("etc/hosts")).toContain("sbx-1");
    const { stdout } = await rig.control.host.ask("commands.run", {
      cmd: "sh",
      args: ["-c", "echo $GREETING"],
    });
    expect(stdout).toBe("hello\n");
  });

  test("it starts no process", async () => {
    const before = await descendants(rig.pid);
    await rig.identify();
    expect(await descendants(rig.pid)).toEqual(before);
  });

  test("a customer cannot set it, nor ask what is the host's", async () => {
    await rig.identify();
    const { client } = rig.bulk.customer();
    for (const method of ["identity.set", "commands.exec", "metrics.read", "ports.dial"]) {
      const call = client.call(method as "rpc.ping", {});
      await expect(call.result).rejects.toMatchObject({ code: -32_601 });
    }
  });

  test("one that is malformed is refused by field and changes nothing", async () => {
    const bad = rig.control.host.ask("identity.set", identity({ machineId: "x" }));
    await expect(bad).rejects.toMatchObject({ code: -32_602, data: { field: "machineId" } });
    await expect(etc("etc/machine-id")).rejects.toThrow("ENOENT");
  });
});

describe("a new life of the machine", () => {
  test("half frames are dropped, named processes live on, the rest waits for the new identity", async () => {
    await rig.identify();
    const { client } = rig.bulk.customer();
    const { id } = await client.ask("commands.start", {
      cmd: "bash",
      args: ["-c", "read line; echo got $line"],
    });
    // The machine is paused in the middle of a frame in either direction.
    rig.control.socket.write(encodeFrame(0, "text", new Uint8Array(900_000)).subarray(0, 500));
    rig.bulk.socket.write(frameHeader(1, "text", 1_000_000));
    const lost = client.ask("commands.run", { cmd: "sleep", args: ["86421"] });
    rig.disconnect();
    await expect(lost).rejects.toMatchObject({ data: { code: "Disconnected", retryable: true } });

    await rig.connect(WORD);
    const waits = rig.control.host.ask("commands.list", {});
    const next = identity({ generation: 2, nextSyncWord: "ef".repeat(32), envs: {} });
    await rig.identify(next);
    expect((await waits).processes).toMatchObject([{ id }]);
    const output = new Output();
    const call = rig.bulk.customer().client.call("commands.attach", { id }, output);
    await call.stream.write(0, Buffer.from("it\n"));
    expect(await call.result).toEqual({ exitCode: 0 });
    expect(output.stdout.toString()).toBe("got it\n");
  });

  test("the word of an earlier life is only data", async () => {
    await rig.identify();
    const next = identity({ nextSyncWord: "ef".repeat(32) });
    await rig.identify(next);
    const { stdout } = await rig.control.host.ask("commands.run", {
      cmd: "cat",
      stdin: WORD.toString("latin1"),
    });
    expect(Buffer.from(stdout ?? "", "latin1")).toEqual(WORD);
    const { client } = rig.bulk.customer();
    const output = new Output();
    const call = client.call("commands.run", { cmd: "cat", stream: true }, output);
    await call.stream.write(0, WORD);
    call.stream.end(0);
    expect(await call.result).toEqual({ exitCode: 0 });
    expect(output.stdout).toEqual(WORD);
  });

  test("an agent that is killed and started again serves on with the same identity, without its commands", async () => {
    await rig.identify();
    const seconds = ownSleep();
    await rig.control.host.ask("commands.start", { cmd: "sleep", args: [seconds] });
    await rig.kill();
    await rig.boot();
    await rig.connect(WORD);
    await rig.identify();
    expect(await rig.control.host.ask("commands.list", {})).toEqual({ processes: [] });
    const left = async () =>
      rig.control.host.ask("commands.run", {
        cmd: "bash",
        args: ["-c", `pgrep -f '[s]leep ${seconds}' | wc -l`],
      });
    await expect.poll(left).toMatchObject({ stdout: "0\n" });
  });
});

describe("what breaks the rules", () => {
  beforeEach(() => rig.identify());

  const works = async () =>
    expect(await rig.bulk.host.ask("commands.run", { cmd: "true" })).toMatchObject({ exitCode: 0 });

  test.each([
    ["an unknown kind", Buffer.from([0, 0, 0, 1, 0, 1, 9, 0])],
    [
      "a length above the cap",
      Buffer.concat([frameHeader(1, "text", 2 ** 21), Buffer.alloc(2 ** 21)]),
    ],
    ["a second open", encodeFrame(1, "open")],
    [
      "a binary message on an unknown channel",
      encodeFrame(1, "binary", Uint8Array.of(0, 0, 0, 1, 7)),
    ],
  ])("%s closes its connection and no other", async (_name, bytes) => {
    const bad = rig.bulk.customer();
    const good = rig.bulk.customer();
    expect([bad.connection, good.connection]).toEqual([1, 2]);
    const lost = bad.client.ask("commands.run", { cmd: "sleep", args: ["86423"] });
    rig.bulk.socket.write(bytes);
    await expect(lost).rejects.toMatchObject({ data: { code: "Disconnected" } });
    expect(await good.client.ask("rpc.ping", {})).toEqual({});
    await works();
  });

  test("more bytes than the credit close the connection", async () => {
    const { client, connection } = rig.bulk.customer();
    const call = client.call("commands.run", { cmd: "sleep", args: ["86424"], stream: true });
    const part = Buffer.alloc(5 + 65_536);
    part.writeUInt32BE(call.id);
    for (let count = 0; count < 40; count += 1)
      rig.bulk.socket.write(encodeFrame(connection, "binary", part));
    await expect(call.result).rejects.toMatchObject({ data: { code: "Disconnected" } });
    await works();
  });

  test("texts that are no requests harm nobody", async () => {
    const { connection, client } = rig.bulk.customer();
    const texts = ["{", "[]", '[{"jsonrpc":"2.0","id":1,"method":"rpc.ping"}]', '{"id":1}', "\xff"];
    for (const text of texts)
      rig.bulk.socket.write(encodeFrame(connection, "text", Buffer.from(text, "latin1")));
    expect(await client.ask("rpc.ping", {})).toEqual({});
    await works();
  });

  test("an unknown method, wrong parameters and a time that is over have their codes", async () => {
    const { client } = rig.bulk.customer();
    const ask = (method: string, params: object) =>
      client.call(method as "rpc.ping", params as Record<string, never>).result;
    await expect(ask("code.nothing", {})).rejects.toMatchObject({ code: -32_601 });
    await expect(ask("commands.run", { cmd: 5 })).rejects.toMatchObject({
      code: -32_602,
      data: { field: "cmd" },
    });
    await expect(ask("commands.run", { cmd: "a\0b" })).rejects.toMatchObject({ code: -32_602 });
    await expect(ask("files.watch", { path: rig.home, timeoutMs: 20 })).rejects.toMatchObject({
      code: -32_801,
    });
  });

  test("noise on a port does not stop the other one, and the word brings it back", async () => {
    let state = 1;
    const random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 24;
    for (let count = 0; count < 50; count += 1)
      rig.bulk.socket.write(Uint8Array.from({ length: 20_000 }, random));
    expect(await rig.control.host.ask("rpc.ping", {})).toEqual({});
    rig.bulk.link.sync();
    await works();
  });
});
