import { tempFolder } from "./endings.ts";
import { Operator } from "./operator.ts";
import { type Environment, Program } from "./program.ts";

export const HOST_TOKEN = "host-token-of-the-benches-that-is-long-enough";
const ADMIN_TOKEN = "admin-token-of-the-benches-that-is-long-enough";

/** The real Worker in a real workerd, without hosts. */
export interface LoneGateway {
  url: string;
  pid: number;
  operator: Operator;
}

export async function startGateway(env: Environment = {}): Promise<LoneGateway> {
  const program = new Program(["scripts/gateway-main.ts"], {
    SVC_PORT: "0",
    SVC_STATE_DIR: tempFolder(),
    SVC_HOST_TOKEN: HOST_TOKEN,
    SVC_ADMIN_TOKEN: ADMIN_TOKEN,
    SVC_SIGNING_SECRET: "signing-secret-of-the-benches-that-is-long-enough",
    ...env,
  });
  const url = await program.ready();
  return { url, pid: program.pid, operator: new Operator(url, ADMIN_TOKEN) };
}
