import { once } from "node:events";
import { createServer } from "node:net";

const LOOPBACK = "127.0.0.1";

/** The port of SVC_PORT, checked: another program on it would answer in the gateway's place. */
export async function chosenPort(): Promise<number> {
  const port = Number(process.env.SVC_PORT || 8787);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error("SVC_PORT is no port");
  const probe = createServer().listen(port, LOOPBACK);
  try {
    await once(probe, "listening");
  } catch {
    throw new Error(`port ${port} is taken: end what uses it, or set SVC_PORT`);
  }
  probe.close();
  await once(probe, "close");
  return port;
}
