import { once } from "node:events";
import { connect, createServer } from "node:net";

const LOOPBACK = "127.0.0.1";

/** The port of SVC_PORT, checked: another program on it would answer in the gateway's place. 0 becomes a free one. */
export async function chosenPort(): Promise<number> {
  const wanted = Number(process.env.SVC_PORT || 8787);
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > 65_535)
    throw new Error("SVC_PORT is no port: set it to a number from 0 to 65535");
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
