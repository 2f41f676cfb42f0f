import { once } from "node:events";
import { createServer } from "node:net";

// Below those that systems give to connections that go out: one of these could take the place of a server that is away.
const FIRST = 20_000;
const COUNT = 10_000;
const TRIES = 50;

/** A free port on loopback that stays free while the server that listens on it is away. */
export async function steadyPort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (await isFree(port)) return port;
  }
  throw new Error("no port is free");
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
