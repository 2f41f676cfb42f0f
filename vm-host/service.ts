import type { Server } from "node:http";
import type { VmHeartbeat } from "@svc/contract/host-protocol/vms.ts";
import type { Heartbeats } from "@svc/host-kit/heartbeats.ts";
import type { Abilities } from "./computer.ts";
import type { VmHostConfig } from "./config.ts";
import { inTime } from "@svc/host-kit/deadline.ts";
import { closeServer } from "@svc/host-kit/server.ts";
import type { TableLine } from "@svc/host-kit/start-messages.ts";
import { START_TIMES } from "@svc/host-kit/start-times.ts";
import type { FreeDisk } from "./disk/free-disk.ts";
import { weaknessesOf } from "./heartbeat.ts";
import { BASE } from "./images/base.ts";
import type { HostImages } from "./images/host-images.ts";
import type { CacheSweep } from "./images/sweep.ts";
import type { Run } from "./janitor.ts";
import type { Machinery, Readiness } from "./machinery.ts";
import type { Vms } from "./machines/vms.ts";
import type { Recordings } from "./recording/recordings.ts";
import type { Egress } from "./network/egress.ts";
import type { LiveVolumes } from "./volumes/live-volumes.ts";
import type { LocalVolumes } from "./volumes/local-volumes.ts";

const NO_FFMPEG = "ffmpeg is missing (apt-get install --no-install-recommends ffmpeg).";

/** What of the time to stop is left for all that comes after the pauses. */
const AFTER_PAUSES_MS = 1_500;

export interface ServiceParts {
  config: VmHostConfig;
  url: string;
  abilities: Abilities;
  readiness: Readiness;
  vms: Vms;
  images: HostImages;
  sweep: CacheSweep;
  localVolumes: LocalVolumes;
  liveVolumes: LiveVolumes;
  recordings: Recordings;
  heartbeats: Heartbeats<VmHeartbeat>;
  front: Server;
  egress: Egress | null;
  run: Run;
  disk: FreeDisk;
  /** The gateway knows what is served here. */
  told: Promise<void>;
}

/** A VM host that runs: what it says of itself, and its end. */
export class VmService {
  readonly url: string;
  readonly #parts: ServiceParts;

  constructor(parts: ServiceParts) {
    this.url = parts.url;
    this.#parts = parts;
  }

  /** Waits until the gateway has heard of a warm machine, or that there will be none for now; not for ever. */
  async settled(): Promise<void> {
    await inTime(this.#parts.told, START_TIMES.warmMachineMs);
  }

  /** What the banner says of this host. */
  get table(): TableLine[] {
    const { abilities, readiness, images, config, recordings } = this.#parts;
    const { machinery, hint } = readiness;
    const { warm } = config;
    const none =
      warm > 0 && !machinery?.warm.idleOf(BASE.name)
        ? " None is warm yet: the first create boots one."
        : "";
    const able = `QEMU ${abilities.qemu}, keeps ${warm} warm (SVC_WARM_VM).${none}`;
    const note = machinery ? able : (hint ?? images.base.hint);
    const weak = weaknessesOf(abilities).join(" ");
    const notes = [note, weak].filter(Boolean).join(" ");
    const hasDesktops = machinery !== null && images.desktop.bootable !== null;
    const unrecorded = recordings.canRecord ? "" : ` Not recorded: ${NO_FFMPEG}`;
    const desktops = `keeps ${config.warmDesktops} warm (SVC_WARM_DESKTOP).${unrecorded}`;
    const withoutBase = "Their image is built once sandboxes are ready.";
    const missing = machinery ? images.desktop.hint : withoutBase;
    return [
      { what: "sandboxes", on: machinery !== null, note: notes },
      { what: "desktops", on: hasDesktops, note: hasDesktops ? desktops : missing },
    ];
  }

  /** Pauses every machine that has an owner, ends the others, and leaves nothing but the records. */
  async stop(): Promise<void> {
    const { config, readiness, vms, images, sweep, liveVolumes, localVolumes } = this.#parts;
    const { heartbeats, front, egress, run, disk } = this.#parts;
    const { machinery } = readiness;
    disk.close();
    images.all.close();
    sweep.close();
    vms.isDraining = true;
    await machinery?.states.pauseAll(config.stopMs - AFTER_PAUSES_MS);
    liveVolumes.close();
    localVolumes.close();
    if (machinery) await closeMachinery(machinery);
    await vms.close();
    await this.#parts.recordings.close();
    await machinery?.warm.close();
    await heartbeats.stop();
    closeServer(front);
    await egress?.close();
    await run.close();
  }
}

/** Ends what makes machines, and with it every machine. */
async function closeMachinery({ closing, shipper, driver, builds }: Machinery): Promise<void> {
  closing.abort();
  await shipper.close();
  await driver.close();
  await builds.close();
}
