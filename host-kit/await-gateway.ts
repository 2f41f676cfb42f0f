import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { START_TIMES } from "./start-times.ts";

const PAUSE_MS = 50;
const HTTPS_PORT = 443;
const HTTP_PORT = 80;

/**
 * Waits until the gateway accepts connections: `npm start` starts hosts beside it. A gateway that stays away for
 * `limitMs` does not keep the host from starting; the host's heartbeats tell what is wrong then.
 */
export async function awaitGateway(
  gatewayUrl: string,
  limitMs: number = START_TIMES.gatewayMs,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  // A supervisor that is gone ends its gateway, too.
  while (process.connected !== false && performance.now() < deadline) {
    if (await accepts(new URL(gatewayUrl))) return;
    await pause(PAUSE_MS);
  }
}

async function accepts({ protocol, hostname, port }: URL): Promise<boolean> {
  const usual = protocol === "https:" ? HTTPS_PORT : HTTP_PORT;
  const host = hostname.replace(/^\[|\]$/g, "");
  const socket = connect({ host, port: Number(port) || usual, timeout: 1_000 });
  socket.on("timeout", () => socket.destroy(new Error("no answer")));
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
