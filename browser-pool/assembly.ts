import { EventEmitter } from "node:events";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { HeartbeatReply, PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import { Heartbeats } from "@svc/host-kit/heartbeats.ts";
import type { Log } from "@svc/host-kit/log.ts";
import { listen } from "@svc/host-kit/server.ts";
import { CaptchaProvider } from "./captcha/provider.ts";
import type { PoolConfig } from "./config.ts";
import { Allowance } from "./egress/allowance.ts";
import { FirstReport } from "./first-report.ts";
import { GatewaySilence } from "./gateway-silence.ts";
import { type HeartbeatParts, heartbeatOf } from "./heartbeat.ts";
import { type Run, openRun, stateOf } from "./janitor.ts";
import { HostFitness } from "./launch/host-fitness.ts";
import { Feeds } from "./observing/feeds.ts";
import { rootOf } from "./playwrights/folders.ts";
import { PlaywrightProcesses } from "./playwrights/processes.ts";
import { Exits } from "./proxies/exits.ts";
import { Profiles } from "./profiles/profiles.ts";
import { ProfileSaver } from "./profiles/save-on-end.ts";
import { Recordings } from "./recording/recordings.ts";
import { createFront } from "./server/front.ts";
import { PoolService } from "./service.ts";
import { Sessions } from "./sessions/sessions.ts";
import { type LaunchSlot, launchSlot } from "./slots/launch.ts";
import { KINDS, type Shelves, placesOf } from "./slots/shelves.ts";
import type { Slot } from "./slots/slot.ts";
import { WarmSlots } from "./slots/warm-slots.ts";

/** How long a change waits for others. Reported at once, changes of a create would take the processor from its client. */
const QUIET_MS = 300;
/** A kind that is switched off by its setting. */
const OFF_HINT = "This pool serves no browsers of this kind: SVC_MAX_STEALTH is 0.";

type HintOf = (kind: BrowserKind) => string | null;

/** Events that heartbeats listen to. The objects that emit them are made before the heartbeats. */
type Events = EventEmitter<{
  /** The gateway should hear of a change. */
  changed: [];
  /** A session has ended that the gateway takes for alive. */
  lost: [];
}>;

/** The parts of a pool that are opened first. */
interface Base {
  config: PoolConfig;
  log: Log;
  events: Events;
  run: Run;
  hostFitness: HostFitness;
  allowance: Allowance;
  playwrights: PlaywrightProcesses;
  exits: Exits;
  /** Null: none is configured. */
  captcha: CaptchaProvider | null;
  /** Null where this pool cannot record. */
  recordings: Recordings | null;
}

/** Builds a pool that answers its gateway, warms browsers and beats. Returns before the first browser is warm. */
export async function openPool(config: PoolConfig, log: Log): Promise<PoolService> {
  const base = await openBase(config, log);
  const { events, hostFitness, playwrights, exits, captcha } = base;
  const { served } = playwrights;
  const { shelves, sessions, hintOf } = openSessions(base);
  const silence = new GatewaySilence({
    graceMs: config.orphanGraceMs,
    hasSessions: () => sessions.count > 0,
    onSilent: () => {
      log.warn("gateway_silent");
      sessions.orphanAll();
    },
  });
  const { hostToken, gatewayUrl } = config;
  const feeds = new Feeds({ gatewayUrl, hostToken, log });
  const onCall = (): void => silence.heard();
  const front = createFront({ sessions, feeds, served, hostToken, log, onCall });
  const ownUrl = await listen(front, config.listen);
  const url = config.publicUrl ?? ownUrl;
  const told = { config, sessions, shelves, hostFitness, served, exits, captcha, hintOf, url };
  const firstReport = new FirstReport(KINDS.filter((kind) => config.shelves[kind].warm > 0));
  const heartbeats = heartbeatsOf(told, log, (beat) => {
    silence.heard();
    firstReport.answered(beat);
  });
  // Creates wait for the first browser.
  events.on("changed", () => (firstReport.isHeard ? heartbeats.touch() : heartbeats.hurry()));
  events.on("lost", () => heartbeats.hurry());
  const fill = (): void => {
    for (const kind of KINDS) if (hostFitness.hintOf(kind) === null) shelves[kind].fill();
  };
  fill();
  hostFitness.onChange(() => {
    fill();
    heartbeats.touch();
  });
  heartbeats.start();
  const parts = { ...base, ...told, silence, front, heartbeats, firstReport };
  return new PoolService(parts);
}

async function openBase(config: PoolConfig, log: Log): Promise<Base> {
  const run = await openRun(config.stateDir);
  const hostFitness = await HostFitness.open(config.chromium, run.name);
  const allowance = await Allowance.of(config.egressAllow);
  const root = rootOf(run.folder);
  const playwrights = await PlaywrightProcesses.open({ root, hostFitness, log });
  const exits = new Exits({ ...config.proxies, log });
  const { callMs } = config.captchaLimits;
  const captcha = config.captcha && new CaptchaProvider({ ...config.captcha, callMs, log });
  // Nobody waits: a provider that is away must not keep browsers.
  void captcha?.check();
  const { gatewayUrl, hostToken } = config;
  const folder = stateOf(config.stateDir);
  const recordings = await Recordings.open({ folder, gatewayUrl, hostToken, log });
  const opened = { run, hostFitness, allowance, playwrights, exits, captcha, recordings };
  return { config, log, events: new EventEmitter(), ...opened };
}

/** The warm browsers, and the sessions that take them. */
function openSessions(base: Base): { shelves: Shelves; sessions: Sessions; hintOf: HintOf } {
  const { config, log, events, hostFitness, exits, captcha, recordings } = base;
  const { gatewayUrl, hostToken } = config;
  const shelves = openShelves(base);
  const hintOf: HintOf = (kind) => {
    if (config.shelves[kind].most === 0) return OFF_HINT;
    return hostFitness.hintOf(kind) ?? shelves[kind].hint;
  };
  const sessions = new Sessions({
    shelves,
    log,
    onChange: () => void events.emit("changed"),
    onLoss: () => void events.emit("lost"),
    hintOf,
    profiles: new Profiles({ gatewayUrl, log }),
    saver: new ProfileSaver({ gatewayUrl, hostToken, log }),
    exits,
    captcha: captcha && { provider: captcha, limits: config.captchaLimits },
    recordings,
  });
  return { shelves, sessions, hintOf };
}

function openShelves(base: Base): Shelves {
  const { config, log, events, playwrights } = base;
  const places = placesOf(config.shelves);
  const launcher = launcherOf(base);
  // The warm Playwright is for the next fast browser: it would leave marks in a stealth browser that wants none of it.
  const attachWarm = (next: Slot | null): void =>
    playwrights.warm.attachTo(next?.playwrights ?? null);
  const open = (kind: BrowserKind): WarmSlots =>
    new WarmSlots({
      warm: config.shelves[kind].warm,
      places: places[kind],
      log,
      launch: launcher(kind),
      onChange: () => void events.emit("changed"),
      onNext: kind === "fast" ? attachWarm : () => {},
    });
  return { fast: open("fast"), stealth: open("stealth") };
}

function launcherOf(base: Base): (kind: BrowserKind) => LaunchSlot {
  const { run, hostFitness, allowance, playwrights, log } = base;
  let launches = 0;
  return (kind) => (index, signal) => {
    const { cgroups } = hostFitness;
    const fitness = hostFitness[kind];
    if (!fitness) return Promise.reject(new Error(`this host serves no ${kind} browsers`));
    launches += 1;
    const plan = { fitness, cgroups, folder: run.folder, allowance, playwrights, log };
    const xvfb = "xvfb" in fitness ? { xvfb: fitness.xvfb } : {};
    return launchSlot({ ...plan, ...xvfb }, launches, index, signal);
  };
}

function heartbeatsOf(
  parts: HeartbeatParts,
  log: Log,
  onAnswered: (beat: PoolHeartbeat) => void,
): Heartbeats<PoolHeartbeat> {
  const { config, sessions } = parts;
  const { gatewayUrl, hostId, hostToken } = config;
  return new Heartbeats({
    gatewayUrl,
    hostId,
    hostToken,
    log,
    quietMs: QUIET_MS,
    call: fetch,
    nextBeat: () => heartbeatOf(parts),
    onAnswer: (reply: HeartbeatReply, beat: PoolHeartbeat) => {
      onAnswered(beat);
      const again = new Set(reply.again);
      sessions.forget(beat.slots.filter(({ id }) => !again.has(id)));
      for (const id of reply.end) sessions.end(id);
    },
  });
}
