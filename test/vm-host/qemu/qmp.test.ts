import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type Socket, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Qmp, connectUnix } from "../../../vm-host/qemu/qmp.ts";

test("a port that is written to while its machine dies closes, and harms nobody", async () => {
  const folder = mkdtempSync(join(tmpdir(), "port-"));
  const server = createServer();
  server.listen(join(folder, "port.sock"));
  await once(server, "listening");
  const connected = once(server, "connection") as Promise<[Socket]>;
  const port = await connectUnix(join(folder, "port.sock"), new AbortController().signal);
  const [machine] = await connected;
  machine.destroy();
  await once(machine, "close");
  // Nobody reads, so nothing but the write finds out; without a listener its error would end the process.
  const closed = new Promise<void>((resolve) => port.once("close", () => resolve()));
  port.write("to nobody");
  await closed;
  expect(port.destroyed).toBe(true);
  server.close();
  rmSync(folder, { recursive: true });
});

test.each(["this is no JSON\n", "[1]\n", `${"x".repeat(17 * 1024 * 1024)}`])(
  "a QEMU that does not speak its protocol is given up",
  async (words) => {
    const folder = mkdtempSync(join(tmpdir(), "qmp-"));
    const server = createServer((socket) => {
      socket.on("error", () => socket.destroy());
      socket.write(words);
    });
    server.listen(join(folder, "qmp.sock"));
    await once(server, "listening");
    const connecting = Qmp.connect(join(folder, "qmp.sock"), new AbortController().signal);
    await expect(connecting).rejects.toThrow("QEMU is gone");
    server.close();
    rmSync(folder, { recursive: true });
  },
);
