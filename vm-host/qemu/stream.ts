import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { chmod } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import type { QemuMachine } from "./machine.ts";

const LOOK_MS = 5;
const LIMIT_MS = 120_000;
const FASTEST = 2 ** 40;

const Migration = z.object({ status: z.string().optional(), "error-desc": z.string().optional() });

/**
 * Writes all of a stopped machine, memory and devices, as QEMU's own stream: what works where the pages of a process cannot
 * be read. The machine stays, stopped.
 */
export async function saveStream(machine: QemuMachine, file: string): Promise<void> {
  const { monitor } = machine;
  const path = join(machine.folder, "stream.sock");
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
  });
  server.listen(path);
  await once(server, "listening");
  try {
    // The folder lets nobody in but the machine's own user.
    await chmod(path, 0o666);
    await monitor.execute("migrate-set-parameters", { "max-bandwidth": FASTEST });
    const connected = once(server, "connection");
    await monitor.execute("migrate", { uri: `unix:${path}` });
    const [socket] = await Promise.race([connected, pause(LIMIT_MS, [])]);
    if (!socket) throw new Error("the machine sends nothing");
    try {
      const signal = AbortSignal.timeout(LIMIT_MS);
      const writing = pipeline(socket, createWriteStream(file), { signal });
      await Promise.all([writing, completed(machine)]);
    } catch (error) {
      await monitor.execute("migrate_cancel").catch(() => null);
      throw error;
    }
  } finally {
    server.close();
  }
}

async function completed({ monitor }: QemuMachine): Promise<void> {
  const until = Date.now() + LIMIT_MS;
  for (;;) {
    const found = Migration.parse(await monitor.execute("query-migrate"));
    if (found.status === "completed") return;
    if (found.status === "failed" || found.status === "cancelled")
      throw new Error(`the stream failed: ${found["error-desc"] ?? found.status}`);
    if (Date.now() > until) throw new Error("the stream takes too long");
    await pause(LOOK_MS);
  }
}
