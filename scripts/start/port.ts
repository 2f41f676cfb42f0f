import { once } from "node:events";
import { connect, createServer } from "node:net";
import { readSettings } from "@svc/host-kit/settings.ts";
import { START_SETTINGS } from "./settings.ts";

const LOOPBACK = "127.0.0.1";

/** The port of SVC_PORT, checked: another program on it would answer in the gateway's place. 0 becomes a free one. */
export async function chosenPort(): Promise<number> {
  const { port: wanted } = readSettings({ port: START_SETTINGS.port }, process.env);
  const probe = createServer((socket) => socket.end()).listen(wanted, LOOPBACK);
  try {
    await once(probe, "listening");
  } catch {
    throw new Error(`port ${wanted} is taken: end what uses it, or set SVC_PORT`);
  }
  const address = probe.address();
  const port = typeof address === "object" && address ? address.port : wanted;
  // A connection that the listening side closed first keeps the system from giving a free port to anybody else for a
  // minute. Who names the port may listen on it at once.
  if (wanted === 0) await once(connect(port, LOOPBACK).resume(), "close");
  probe.close();
  await once(probe, "close");
  return port;
}
