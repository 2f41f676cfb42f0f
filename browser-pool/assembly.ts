import { EventEmitter } from "node:events";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { HeartbeatReply, PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import { Heartbeats } from "@svc/host-kit/heartbeats.ts";
import type { Log } from "@svc/host-kit/log.ts";
import { listen } from "@svc/host-kit/server.ts";
import type { PoolConfig } from "./config.ts";
import { Allowance } from "./egress/allowance.ts";
import { FirstReport } from "./first-report.ts";
import { GatewaySilence } from "./gateway-silence.ts";
import { type HeartbeatParts, heartbeatOf } from "./heartbeat.ts";
import { type Run, openRun } from "./janitor.ts";
import { HostFitness } from "./launch/host-fitness.ts";
import { rootOf } from "./playwrights/folders.ts";
import { PlaywrightProcesses } from "./playwrights/processes.ts";
import { Profiles } from "./profiles/profiles.ts";
import { createFront } from "./server/front.ts";
import { PoolService } from "./service.ts";
import { Sessions } from "./sessions/sessions.ts";
import { type LaunchSlot, launchSlot } from "./slots/launch.ts";
import type { Slot } from "./slots/slot.ts";
import { WarmSlots } from "./slots/warm-slots.ts";

/** How long a change waits for others. Reported at once, changes of a create would take the processor from its client. */
const QUIET_MS = 300;
const STEALTH_HINT = "This version serves no stealth browsers: create the session without stealth.";

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
}

/** Builds a pool that answers its gateway, warms browsers and beats. Returns before the first browser is warm. */
export async function openPool(config: PoolConfig, log: Log): Promise<PoolService> {
  const base = await openBase(config, log);
  const { events, run, hostFitness, allowance, playwrights } = base;
  const { served } = playwrights;
  const { warmSlots, sessions, hintOf } = openSessions(base);
  const silence = new GatewaySilence({
    graceMs: config.orphanGraceMs,
    hasSessions: () => sessions.count > 0,
    onSilent: () => {
      log.warn("gateway_silent");
      sessions.orphanAll();
    },
  });
  const { hostToken } = config;
  const front = createFront({ sessions, served, hostToken, log, onCall: () => silence.heard() });
  const ownUrl = await listen(front, config.listen);
  const url = config.publicUrl ?? ownUrl;
  const told = { config, sessions, warmSlots, hostFitness, served, hintOf, url };
  const firstReport = new FirstReport(config.warm > 0);
  const heartbeats = heartbeatsOf(told, log, (beat) => {
    silence.heard();
    firstReport.answered(beat);
  });
  // Creates wait for the first browser.
  events.on("changed", () => (firstReport.isHeard ? heartbeats.touch() : heartbeats.hurry()));
  events.on("lost", () => heartbeats.hurry());
  if (hostFitness.fitness) warmSlots.fill();
  void hostFitness.becameFit.then(() => {
    warmSlots.fill();
    heartbeats.touch();
  });
  heartbeats.start();
  const parts = { ...told, run, allowance, playwrights, silence, front, heartbeats, firstReport };
  return new PoolService(parts);
}

async function openBase(config: PoolConfig, log: Log): Promise<Base> {
  const run = await openRun(config.stateDir);
  const hostFitness = await HostFitness.open(config.chromium, run.name);
  const allowance = await Allowance.of(config.egressAllow);
  const root = rootOf(run.folder);
  const playwrights = await PlaywrightProcesses.open({ root, hostFitness, log });
  return { config, log, events: new EventEmitter(), run, hostFitness, allowance, playwrights };
}

/** The warm browsers, and the sessions that take them. */
function openSessions(base: Base): { warmSlots: WarmSlots; sessions: Sessions; hintOf: HintOf } {
  const { config, log, events, hostFitness, playwrights } = base;
  const { warm, maxSlots, gatewayUrl } = config;
  const onChange = (): void => void events.emit("changed");
  const onNext = (next: Slot | null): void => playwrights.warm.attachTo(next?.playwrights ?? null);
  const launch = launcherOf(base);
  const warmSlots = new WarmSlots({ warm, maxSlots, log, launch, onChange, onNext });
  const hintOf: HintOf = (kind) =>
    kind === "fast" ? (hostFitness.hint ?? warmSlots.hint) : STEALTH_HINT;
  const sessions = new Sessions({
    warmSlots,
    log,
    onChange,
    onLoss: () => void events.emit("lost"),
    hintOf,
    profiles: new Profiles({ gatewayUrl, log }),
  });
  return { warmSlots, sessions, hintOf };
}

function launcherOf({ run, hostFitness, allowance, playwrights }: Base): LaunchSlot {
  let launches = 0;
  return (index, signal) => {
    const { fitness, cgroups } = hostFitness;
    if (!fitness) return Promise.reject(new Error("this host serves no browsers"));
    launches += 1;
    const plan = { fitness, cgroups, folder: run.folder, allowance, playwrights };
    return launchSlot(plan, launches, index, signal);
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
