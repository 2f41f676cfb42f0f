import { once } from "node:events";
import { createServer } from "node:net";
import { readSettings } from "@svc/host-kit/settings.ts";
import { START_SETTINGS } from "./settings.ts";

const LOOPBACK = "127.0.0.1";

/** The port of SVC_PORT, checked: another program on it would answer in the gateway's place. */
export async function chosenPort(): Promise<number> {
  const { port } = readSettings({ port: START_SETTINGS.port }, process.env);
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
