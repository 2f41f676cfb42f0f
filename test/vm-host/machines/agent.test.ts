import { METHODS } from "@svc/contract/control-channel/methods.ts";
import type { NotificationHandler } from "@svc/contract/control-channel/rpc-calls.ts";
import { RpcClient } from "@svc/contract/control-channel/rpc-client.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { missingMachine } from "../rig/needs.ts";
import { pause, resume } from "../rig/acts.ts";
import { Rig, pathOf } from "../rig/rig.ts";

const MACHINE_MS = 400_000;
const PATIENCE_MS = 300_000;
/** A ping that takes so long is asked of an agent that is held. */
const SILENT_MS = 5_000;

/** Holds the agent's loop for ever, by the debugger that every Node opens when it is asked to. */
const HOLD = `
const { execFileSync } = require("node:child_process");
process.kill(Number(execFileSync("pgrep", ["-fo", "agent.mjs"])), "SIGUSR1");
const look = () => fetch("http://127.0.0.1:9229/json").then((answer) => answer.json()).then(([found]) => {
  const socket = new WebSocket(found.webSocketDebuggerUrl);
  const params = { expression: "for(;;);" };
  socket.onopen = () => socket.send(JSON.stringify({ id: 1, method: "Runtime.evaluate", params }));
}, () => setTimeout(look, 100));
look();`;

describe.skipIf(await missingMachine())("a machine's agent", { timeout: MACHINE_MS }, () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    await rig.place("one");
  }, 2 * MACHINE_MS);
  afterAll(() => rig?.stop());

  /** A command that holds the agent. It names no time: nothing but the agent's silence ends the request. */
  const hold = () =>
    rig.call("POST", `${pathOf("one")}/exec`, "one", { cmd: "node", args: ["-e", HOLD] });
  const back = (): Promise<string> => rig.sh("one", "echo back").catch(() => "");

  /** A customer's connection. The first one after the agent began anew may be closed at once. */
  async function control(
    heard: NotificationHandler = () => {},
  ): Promise<{ client: RpcClient<typeof METHODS>; socket: WebSocket }> {
    const { url, headers } = await rig.socket("one");
    const socket = new WebSocket(url, { headers });
    const hello = Promise.withResolvers<boolean>();
    const wire = {
      sendText: (text: string) => socket.send(text),
      sendBinary: (bytes: Uint8Array) => socket.send(bytes),
      close: () => socket.close(),
      whenWritable: () => null,
    };
    const client = new RpcClient(wire, METHODS, (method, params) => {
      hello.resolve(true);
      heard(method, params);
    });
    socket.on("message", (data: Buffer, isBinary) =>
      isBinary ? client.binary(data) : client.text(data),
    );
    socket.once("close", () => {
      client.closed();
      hello.resolve(false);
    });
    return (await hello.promise) ? { client, socket } : control(heard);
  }

  test("that is stopped is continued, and what was asked meanwhile is answered", async () => {
    await rig.exec("one", "pkill", ["-STOP", "-f", "agent.mjs"]);
    await expect.poll(back, { timeout: PATIENCE_MS }).toBe("back");
  });

  test("that hangs is told as such, is started again, and the machine goes on", async () => {
    await rig.sh("one", "echo kept > /root/kept");
    const response = await hold();
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ code: "Disconnected" });
    await expect.poll(back, { timeout: PATIENCE_MS }).toBe("back");
    expect(await rig.sh("one", "cat /root/kept")).toBe("kept");
  });

  test("that hangs does not lose a machine that is paused", async () => {
    const { client, socket } = await control();
    const held = hold();
    const ping = (): Promise<unknown> => client.ask("rpc.ping", {});
    while ((await inTime(ping(), SILENT_MS)) !== LATE);
    await pause(rig, "one");
    expect((await held).status).not.toBe(200);
    socket.terminate();
    await resume(rig, "one");
    await expect.poll(back, { timeout: PATIENCE_MS }).toBe("back");
    expect(await rig.sh("one", "cat /root/kept")).toBe("kept");
  });

  test("searches in a thread that ends, and watches 9,000 folders", async () => {
    await rig.sh(
      "one",
      `mkdir -p /tree && cd /tree && seq -f %04g 9000 | sed 's#..#&/#' | xargs mkdir -p`,
    );
    await rig.sh("one", `printf '${"a".repeat(60)}!' > /tree/trap`);
    const { client, socket } = await control();
    const trap = { path: "/tree", glob: "trap", regex: "^(a+)+$", timeoutMs: 3_000 };
    await expect(client.ask("files.search", trap)).rejects.toMatchObject({ code: -32_801 });
    const found = await client.ask("files.search", { path: "/tree", text: "aaa", glob: "trap" });
    expect(found.matches).toMatchObject([{ path: "/tree/trap", line: 1, column: 1 }]);
    const { result } = client.call("files.watch", { path: "/tree", recursive: true });
    const failed = result.catch((error: unknown) => error);
    const watches = async () =>
      Number(
        await rig.sh("one", `cat /proc/$(pgrep -fo svc-watch)/fdinfo/* | grep -c '^inotify wd'`),
      );
    await expect.poll(watches, { timeout: PATIENCE_MS }).toBeGreaterThan(9_000);
    socket.close();
    await failed;
    await expect.poll(watches, { timeout: PATIENCE_MS }).toBe(0);
  });

  test("tells a move as one event, and refuses a watch for which the kernel has no room", async () => {
    await rig.sh("one", "mkdir -p /moves/a /moves/b && touch /moves/a/x");
    const events: Record<string, unknown>[] = [];
    const { client, socket } = await control((method, params) => {
      if (method === "files.event") events.push(params);
    });
    const watch = { path: "/moves", recursive: true };
    const failed = client.call("files.watch", watch).result.catch((error: unknown) => error);
    const seen = async (act: string, event: object) => {
      await rig.sh("one", act);
      await expect
        .poll(() => events, { timeout: PATIENCE_MS })
        .toContainEqual(expect.objectContaining(event));
    };
    await expect
      .poll(
        async () => {
          await rig.sh("one", "n=$(date +%N); touch /moves/a/$n /moves/b/$n");
          const told = events.map(({ path }) => String(path));
          return ["/moves/a/", "/moves/b/"].every((place) =>
            told.some((path) => path.startsWith(place)),
          );
        },
        { timeout: PATIENCE_MS },
      )
      .toBe(true);
    const moved = { type: "rename", from: "/moves/a/x", path: "/moves/b/y" };
    await seen("mv /moves/a/x /moves/b/y", moved);
    await seen("mv /moves/b/y /root/y", { type: "remove", path: "/moves/b/y" });
    await seen("mv /root/y /moves/y", { type: "create", path: "/moves/y" });
    await seen("mv /moves/a /moves/c", { type: "rename", from: "/moves/a", path: "/moves/c" });
    await seen("touch /moves/c/late", { type: "create", path: "/moves/c/late" });
    await rig.sh("one", "sysctl -qw fs.inotify.max_user_watches=2");
    await expect(
      client.ask("files.watch", { path: "/usr", recursive: true }),
    ).rejects.toMatchObject({
      data: { code: "TooLarge", retryable: false },
    });
    await rig.sh("one", "sysctl -qw fs.inotify.max_user_watches=131072");
    socket.close();
    await failed;
  });
});
