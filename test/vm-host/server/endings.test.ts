import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { killIfThere } from "../../support/process/process-tree.ts";
import { serverInside } from "../../support/process/server-inside.ts";
import { bodyOf, pause, pidsOf, post, resume, snapshot } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Rig, pathOf } from "../rig/rig.ts";

const MACHINE_MS = 400_000;

/** Answers /hang never, a WebSocket with one message, and all else at once. */
const SERVER = serverInside(`
        if self.path == "/hang":
            time.sleep(100000)
        key = self.begin()
        self.wfile.write(bytes([0x81, 2]) + b"up" if key else b"up")
        self.wfile.flush()
        if key:
            time.sleep(100000)
`);

describe.skipIf(await missingMachine())("a machine that ends", { timeout: MACHINE_MS }, () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
  }, MACHINE_MS);
  afterAll(() => rig?.stop());

  const statusOf = async (id: string, rest: string): Promise<number> =>
    (await rig.call("GET", `${pathOf(id)}/${rest}`, id)).status;

  /** A machine with a server inside, which listens. */
  async function serving(id: string): Promise<void> {
    await rig.place(id);
    const script = Buffer.from(SERVER).toString("base64");
    await rig.sh(
      id,
      `echo ${script} | base64 -d > /root/s.py; setsid python3 /root/s.py >/dev/null 2>&1 &`,
    );
    await expect.poll(() => statusOf(id, "ports/8000/"), { timeout: MACHINE_MS }).toBe(200);
  }

  /** A socket of a preview: how it ends, once the server inside has answered. */
  async function watched(id: string): Promise<{ closed: Promise<[number, string]> }> {
    const { url, headers } = await rig.socket(id, "ports/8000/");
    const socket = new WebSocket(url, { headers });
    const closed = once(socket, "close").then(([code, reason]): [number, string] => [
      Number(code),
      String(reason),
    ]);
    await once(socket, "message");
    return { closed };
  }

  /** An upload that goes on when it is told to. */
  async function halfUpload(id: string): Promise<{ answered: Promise<number>; goOn: () => void }> {
    const { url, headers } = await rig.socket(id, "files?path=/root/up/half");
    const options = { method: "PUT", headers: { ...headers, "content-length": "2000000" } };
    const sent = httpRequest(url.replace(/^ws/, "http"), options);
    sent.on("error", () => {});
    const answered = once(sent, "response").then(([response]: IncomingMessage[]) => {
      response?.resume();
      return response?.statusCode ?? 0;
    });
    sent.write(Buffer.alloc(1_000_000));
    // Under a name of its own until it is whole.
    const begun = () => rig.sh(id, "ls -A /root/up 2>/dev/null | wc -l");
    await expect.poll(begun, { timeout: MACHINE_MS }).toBe("1");
    return { answered, goOn: () => void sent.write(Buffer.alloc(1_000)) };
  }

  test("by a pause answers what is under way with 409, and what comes later", async () => {
    await serving("rest");
    const command = post(rig, "rest", "exec", {
      cmd: "sh",
      args: ["-c", "touch /run/up; sleep 1000"],
    });
    const request = rig.call("GET", `${pathOf("rest")}/ports/8000/hang`, "rest");
    await expect.poll(() => rig.sh("rest", "ls /run/up"), { timeout: MACHINE_MS }).toBe("/run/up");
    const { answered, goOn } = await halfUpload("rest");
    await pause(rig, "rest");
    expect(await bodyOf(await command, 409)).toMatchObject({ code: "Interrupted" });
    expect((await request).status).toBe(409);
    goOn();
    expect(await answered).toBe(409);
    const late = await post(rig, "rest", "exec", { cmd: "true" });
    expect(await bodyOf(late, 409)).toMatchObject({ code: "Paused" });
    expect(await statusOf("rest", "ports/8000/")).toBe(409);
    expect(await statusOf("rest", "files?path=/etc/hostname")).toBe(409);
    await resume(rig, "rest");
    expect(await rig.sh("rest", "echo on")).toBe("on");
    await rig.delete("rest");
    expect(await statusOf("rest", "ports/8000/")).toBe(404);
  });

  test("closes the sockets of its previews with the reason", async () => {
    await serving("shown");
    await snapshot(rig, "shown", "snap_shown");
    const paused = await watched("shown");
    await pause(rig, "shown");
    expect(await paused.closed).toEqual([CLOSE_CODES.paused, "the sandbox was paused"]);
    await resume(rig, "shown");
    const reverted = await watched("shown");
    await bodyOf(await post(rig, "shown", "revert", { snapshotId: "snap_shown" }), 200);
    expect(await reverted.closed).toEqual([CLOSE_CODES.reverted, "the sandbox was reverted"]);
    const died = await watched("shown");
    for (const pid of pidsOf(rig)) killIfThere(pid);
    expect(await died.closed).toEqual([CLOSE_CODES.gone, "the machine died"]);
    await rig.delete("shown");
  });

  test("by its release closes the sockets of its previews as gone", async () => {
    await serving("gone");
    const { closed } = await watched("gone");
    await rig.delete("gone");
    expect(await closed).toEqual([CLOSE_CODES.gone, "the sandbox was released"]);
  });
});
