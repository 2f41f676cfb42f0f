import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeyCreated, Org } from "@svc/contract/admin/orgs.ts";
import type { PlanName, PlanOverrides } from "@svc/contract/plans.ts";
import { Log, LogLevel, type Miniflare, type WorkerdStructuredLog } from "miniflare";
import { lineOf } from "../../../scripts/gateway-log.ts";
import { startGateway } from "../../../scripts/gateway.ts";
import { applyMigrations } from "../../../scripts/migrate.ts";
import { stateFolder } from "./state-folder.ts";
import { steadyPort } from "./steady-port.ts";
import { ADMIN_TOKEN, HOST_TOKEN, LOGIN_KEY, SIGNING_SECRET } from "../secrets.ts";

/** For a gateway with a real pool: on a busy machine a browser takes its time. */
export const PATIENT = { SVC_ACQUIRE_TIMEOUT_MS: "120000" };

/** A gateway of a test's own: the real Worker in a real workerd, nothing kept. */
export interface TestGateway {
  url: URL;
  miniflare: Miniflare;
  hostToken: string;
  close(): Promise<void>;
  newKey(plan?: PlanName, overrides?: PlanOverrides): Promise<string>;
}

/** Where a gateway listens and keeps its state. */
export interface GatewayPlace {
  port: number;
  /** For a gateway that is to come back: without a port, it gets one that stays free. */
  stateDir?: string;
  /** Its hosts store whole machines: too much for a state in memory. */
  isOnDisk?: boolean;
  /** Hears each line that the gateway logs. */
  onLine?: (line: string) => void;
}

const logTo = (onLine: (line: string) => void) => ({
  miniflare: new Log(LogLevel.ERROR),
  runtime: (output: WorkerdStructuredLog) => onLine(lineOf(output)),
});

export async function testGateway(
  bindings: Record<string, string> = {},
  place: GatewayPlace = { port: 0 },
): Promise<TestGateway> {
  const secrets = {
    SVC_HOST_TOKEN: HOST_TOKEN,
    SVC_SIGNING_SECRET: SIGNING_SECRET,
    SVC_ADMIN_TOKEN: ADMIN_TOKEN,
    SVC_LOGIN_KEY: LOGIN_KEY,
  };
  const isToComeBack = place.port === 0 && place.stateDir !== undefined;
  const parent = place.isOnDisk ? tmpdir() : stateFolder();
  const stateDir = place.stateDir ?? (await mkdtemp(join(parent, "svc-gateway-")));
  const { url, miniflare } = await startGateway({
    stateDir,
    port: isToComeBack ? await steadyPort() : place.port,
    bindings: { ...secrets, ...bindings },
    ...(place.onLine && { log: logTo(place.onLine) }),
  });
  await applyMigrations(await miniflare.getD1Database("DB", "gateway"), "migrations");

  async function post(path: string, body: unknown): Promise<unknown> {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return (await fetch(new URL(path, url), init)).json();
  }
  return {
    url,
    miniflare,
    hostToken: secrets.SVC_HOST_TOKEN,
    close: async () => {
      await miniflare.dispose();
      if (stateDir !== place.stateDir) await rm(stateDir, { recursive: true, force: true });
    },
    newKey: async (plan = "professional", overrides = {}) => {
      const org = Org.parse(await post("/admin/orgs", { name: "test", plan, overrides }));
      return KeyCreated.parse(await post(`/admin/orgs/${org.orgId}/keys`, {})).key;
    },
  };
}
