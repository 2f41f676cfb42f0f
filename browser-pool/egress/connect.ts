import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { type LookupFunction, type Socket, connect, isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Intake } from "./intake.ts";
import { Refusal } from "./refusal.ts";

/** A connection to one of these addresses: that which answers first, as in a browser. With an intake it is read by that alone. */
export async function connected(
  addresses: LookupAddress[],
  port: number,
  signal: AbortSignal,
  intake: Intake | null = null,
): Promise<Socket> {
  const [first] = addresses;
  const lookupFixed = fixedLookup(addresses);
  const host = addresses.length === 1 && first ? first.address : "target.invalid";
  const origin = connect({
    host,
    port,
    lookup: lookupFixed,
    allowHalfOpen: true,
    noDelay: true,
    ...(intake && { onread: intake.onread }),
  });
  intake?.holds(origin);
  try {
    await once(origin, "connect", { signal });
    return origin;
  } catch (error) {
    origin.on("error", () => {});
    origin.destroy();
    if (signal.aborted) throw new Refusal("ERR_CONNECTION_TIMED_OUT");
    throw error;
  }
}

/** The connection with TLS, to who proves to be this host. */
export async function secured(socket: Socket, host: string, signal: AbortSignal): Promise<Socket> {
  const secure = connectTls({ socket, host, ...(isIP(host) === 0 && { servername: host }) });
  try {
    await once(secure, "secureConnect", { signal });
    return secure;
  } catch (error) {
    secure.on("error", () => {});
    secure.destroy();
    throw error;
  }
}

// A second look-up could name another address than the one that was checked.
function fixedLookup(addresses: LookupAddress[]): LookupFunction {
  return (_host, options, done) => {
    const [first] = addresses;
    if (options.all) done(null, addresses);
    else done(null, first?.address ?? "", first?.family);
  };
}
