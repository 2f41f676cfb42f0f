import { setTimeout as pause } from "node:timers/promises";
import type { SessionCreated } from "@svc/contract/browser/session.ts";
import type { Customer } from "../service/customer.ts";
import { HOST_TOKEN, type LoneGateway } from "../service/lone-gateway.ts";
import { Program } from "../service/program.ts";

const REGISTERED_MS = 20_000;
const LEASE_SECONDS = 24 * 3600;

/** A gateway's session on the fake pool, which lives as long as the bench. */
export interface UpstreamSession {
  upstreamUrl: string;
  customer: Customer;
  session: SessionCreated;
}

export async function openUpstream(gateway: LoneGateway): Promise<UpstreamSession> {
  const env = { SVC_GATEWAY_URL: gateway.url, SVC_HOST_TOKEN: HOST_TOKEN };
  const upstreamUrl = await new Program(["bench/relay/upstream.ts"], env).ready();
  const deadline = performance.now() + REGISTERED_MS;
  while ((await gateway.operator.hosts()).length === 0) {
    if (performance.now() > deadline) throw new Error("the fake pool does not register");
    await pause(50);
  }
  const customer = await gateway.operator.newCustomer();
  // With a lease it does not end when a measurement closes its socket.
  const session = await customer.create({ lease: { idleSeconds: LEASE_SECONDS } });
  return { upstreamUrl, customer, session };
}
