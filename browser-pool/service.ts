import type { Server } from "node:http";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import type { Heartbeats } from "@svc/host-kit/heartbeats.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import { closeServer } from "@svc/host-kit/server.ts";
import type { TableLine } from "@svc/host-kit/start-messages.ts";
import { START_TIMES } from "@svc/host-kit/start-times.ts";
import type { CaptchaProvider } from "./captcha/provider.ts";
import { CAPTCHA_SETTINGS } from "./captcha/settings.ts";
import { POOL_SETTINGS, type PoolConfig } from "./config.ts";
import type { Allowance } from "./egress/allowance.ts";
import type { FirstReport } from "./first-report.ts";
import type { GatewaySilence } from "./gateway-silence.ts";
import type { Run } from "./janitor.ts";
import type { HostFitness } from "./launch/host-fitness.ts";
import type { PlaywrightProcesses } from "./playwrights/processes.ts";
import type { Exits } from "./proxies/exits.ts";
import { PROXY_SETTINGS } from "./proxies/settings.ts";
import type { Recordings } from "./recording/recordings.ts";
import type { Sessions } from "./sessions/sessions.ts";
import { KINDS, type Shelves } from "./slots/shelves.ts";

const { warmBrowserMs } = START_TIMES;
const OFFLINE =
  "pages take themselves for offline (this kernel has neither dummy nor veth interfaces)";
const WARM_SETTINGS = { fast: POOL_SETTINGS.warm.name, stealth: POOL_SETTINGS.warmStealth.name };
const NO_BROWSER = `No browser has started within ${warmBrowserMs / 1000} s: the log tells why.`;

export interface PoolParts {
  config: PoolConfig;
  url: string;
  run: Run;
  hostFitness: HostFitness;
  allowance: Allowance;
  playwrights: PlaywrightProcesses;
  exits: Exits;
  /** Null: no provider is configured. */
  captcha: CaptchaProvider | null;
  recordings: Recordings | null;
  sessions: Sessions;
  shelves: Shelves;
  silence: GatewaySilence;
  front: Server;
  heartbeats: Heartbeats<PoolHeartbeat>;
  /** Why browsers of a kind are not served; null when they are. */
  hintOf: (kind: BrowserKind) => string | null;
  firstReport: FirstReport;
}

/** A running pool (`assembly.ts` opens one): where it is reached, what it serves, how it stops. */
export class PoolService {
  readonly #parts: PoolParts;
  #isLate = false;

  constructor(parts: PoolParts) {
    this.#parts = parts;
  }

  /** Where the gateway reaches the pool. */
  get url(): string {
    return this.#parts.url;
  }

  /** Waits until the gateway has heard of a warm browser, or of what is wrong; a minute at most. */
  async settled(): Promise<void> {
    const { firstReport } = this.#parts;
    this.#isLate = (await inTime(firstReport.heard, warmBrowserMs)) === LATE;
  }

  /** The pool's lines of the banner. */
  get table(): TableLine[] {
    const { hostFitness } = this.#parts;
    const { isolation, memoryCap } = hostFitness;
    const cap = memoryCap ? "memory capped" : "no memory cap";
    const online = hostFitness.isOnline ? "" : `, ${OFFLINE}`;
    const note = `isolation ${isolation}, ${cap}${online}`;
    return [...KINDS.map((kind) => this.#line(kind, note)), this.#exitsLine, this.#captchaLine];
  }

  get #exitsLine(): TableLine {
    const offers = this.#parts.exits.offers.map(
      ({ tier, countries }) => `${tier} (${countries.join(" ")})`,
    );
    const off = `sessions leave from this host: set ${PROXY_SETTINGS.residentialUrl.name} or that of another tier`;
    return { what: "managed proxies", on: offers.length > 0, note: offers.join(", ") || off };
  }

  get #captchaLine(): TableLine {
    const { captcha } = this.#parts;
    const off = `not solved: set ${CAPTCHA_SETTINGS.captchaKey.name}`;
    return { what: "captchas", on: captcha !== null, note: captcha?.name ?? off };
  }

  #line(kind: BrowserKind, note: string): TableLine {
    const { config, hintOf, shelves } = this.#parts;
    const { warm, most } = config.shelves[kind];
    const isMissing = this.#isLate && warm > 0 && shelves[kind].counts.idle === 0;
    const hint = hintOf(kind) ?? (isMissing ? NO_BROWSER : null);
    const size = `keeps ${warm} warm (${WARM_SETTINGS[kind]}), at most ${most}`;
    return { what: `browsers (${kind})`, on: hint === null, note: hint ?? `${size}, ${note}` };
  }

  /** Ends every browser, sends a last heartbeat, and leaves nothing on the computer. */
  async stop(): Promise<void> {
    const { silence, hostFitness, allowance, sessions, playwrights, recordings } = this.#parts;
    silence.close();
    hostFitness.close();
    allowance.close();
    await sessions.close();
    await recordings?.close();
    await playwrights.close();
    await this.#parts.heartbeats.stop();
    closeServer(this.#parts.front);
    await this.#parts.run.close();
  }
}
