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

/**
 * The connection to a proxy with TLS, to who proves to be this host by a certificate that this computer or NODE_EXTRA_CA_CERTS
 * vouches for. Rejects with a `Refusal` that has the reason; the connection is closed then.
 */
export async function secured(socket: Socket, host: string, signal: AbortSignal): Promise<Socket> {
  const secure = connectTls({ socket, host, ...(isIP(host) === 0 && { servername: host }) });
  try {
    await once(secure, "secureConnect", { signal });
    return secure;
  } catch (error) {
    secure.on("error", () => {});
    secure.destroy();
    if (signal.aborted)
      throw new Refusal("ERR_CONNECTION_TIMED_OUT", "it does not speak TLS in time");
    const code = error instanceof Error && "code" in error ? String(error.code) : "no code";
    // Set when the certificate alone is at fault. Typed as an error, and a code.
    if (secure.authorizationError)
      throw new Refusal(
        "ERR_PROXY_CERTIFICATE_INVALID",
        `its certificate is not accepted (${code})`,
      );
    throw new Refusal("ERR_PROXY_CONNECTION_FAILED", `TLS with it fails (${code})`);
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
