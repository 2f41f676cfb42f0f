import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type Socket, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** The two ends of a connection over a unix socket, until the test has finished. */
export async function socketPair(): Promise<[Socket, Socket]> {
  const folder = await mkdtemp(join(tmpdir(), "pair-"));
  const server = createServer().listen(join(folder, "s"));
  await once(server, "listening");
  const near = connect(join(folder, "s"));
  const [far] = await once(server, "connection");
  onTestFinished(async () => {
    for (const socket of [near, far]) socket.destroy();
    server.close();
    await rm(folder, { recursive: true });
  });
  return [near, far];
}
