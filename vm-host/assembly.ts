import { EventEmitter } from "node:events";
import { inTime } from "@svc/host-kit/deadline.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { ObjectStore } from "@svc/host-kit/object-store.ts";
import { listen } from "@svc/host-kit/server.ts";
import { Bases } from "./builds/base.ts";
import { Builds } from "./builds/builds.ts";
import { StepCache } from "./builds/step-cache.ts";
import { type Computer, openComputer } from "./computer.ts";
import type { VmHostConfig } from "./config.ts";
import { LayersInUse } from "./disk/layers-in-use.ts";
import { goldenIn, openGoldenFolder } from "./golden/folders.ts";
import { GoldenMachines } from "./golden/golden-machines.ts";
import { Holds } from "./golden/holds.ts";
import { dropReplaced } from "./golden/replaced.ts";
import { FreeDisk } from "./disk/free-disk.ts";
import { heartbeatsOf } from "./heartbeat.ts";
import { type HostImages, hostImages } from "./images/host-images.ts";
import type { Bootable } from "./images/keeper.ts";
import { CacheSweep } from "./images/sweep.ts";
import { Lanes } from "./lanes.ts";
import { type Machinery, Readiness, TRYING } from "./machinery.ts";
import { Capacity } from "./machines/capacity.ts";
import { Maker, settle } from "./machines/maker.ts";
import { Placer } from "./machines/placer.ts";
import type { Vm } from "./machines/vm.ts";
import { Vms } from "./machines/vms.ts";
import { WarmSets } from "./machines/warm-sets.ts";
import { QEMU } from "./qemu/command.ts";
import type { QemuDriver } from "./qemu/driver.ts";
import { openQemu } from "./qemu/open.ts";
import { Fetcher } from "./records/fetcher.ts";
import { RecordKeeper } from "./records/keeper.ts";
import { LayerMerger } from "./records/merge-layers.ts";
import { RecordFinder } from "./records/record-finder.ts";
import { Shipper } from "./records/shipper.ts";
import { RecordStore } from "./records/store.ts";
import { Recordings } from "./recording/recordings.ts";
import { createFront } from "./server/front.ts";
import { VmService } from "./service.ts";
import { Homes } from "./shared/homes.ts";
import { SharedMachines } from "./shared/machines.ts";
import { ShareRecords } from "./shared/share-records.ts";
import { ShareStates } from "./shared/states.ts";
import { PausedMachines } from "./states/paused-machines.ts";
import { RecordStarter } from "./states/record-starter.ts";
import { VmStates } from "./states/states.ts";
import { LiveVolumes } from "./volumes/live-volumes.ts";
import { LocalVolumes } from "./volumes/local-volumes.ts";
import { Volumes } from "./volumes/volumes.ts";

const NO_QEMU = `${QEMU} is missing: apt-get install --no-install-recommends qemu-system-x86 qemu-utils.`;

/** So long the build of the desktop image waits for the first warm sandbox at most. */
const DESKTOP_PATIENCE_MS = 300_000;

/** What objects tell each other: an object that is built later listens to those that are there from the start. */
type Events = EventEmitter<{
  /** The gateway should hear how the host is now. */
  changed: [];
  /** There is something to store in the object store, or to remove there. */
  shippable: [];
  /** There is one more golden machine. */
  golden: [];
}>;

/** What a host has from its start: it knows its machines, paused ones too, and can end them. */
interface Base extends Computer {
  config: VmHostConfig;
  log: Log;
  events: Events;
  capacity: Capacity;
  layersInUse: LayersInUse;
  store: RecordStore;
  /** Of changes to a machine. */
  lanes: Lanes;
  homes: Homes;
  shareRecords: ShareRecords;
  localVolumes: LocalVolumes;
  volumes: Volumes;
  recordings: Recordings;
  vms: Vms;
}

/**
 * Builds a VM host that answers and beats. It makes machines as soon as an image is there and a first machine was tried; until
 * then `Readiness` says why not.
 */
export async function openHost(config: VmHostConfig, log: Log): Promise<VmService> {
  const base = await openBase(config, log);
  const { run, abilities, events, store, vms, localVolumes, egress } = base;
  const readiness = new Readiness(abilities.qemu === null ? NO_QEMU : null);
  const sweep = new CacheSweep(config.cacheDir, log);
  const onChange = (): void => void events.emit("changed");
  const images: HostImages = hostImages(
    { ...config, log, onChange },
    {
      base: (bootable) => void makeReady({ ...base, readiness, sweep, images }, bootable),
      desktop: (bootable) => void readiness.machinery?.warm.keep(bootable, config.warmDesktops),
      // None is warm, but the golden machine of the common size is there for the next create.
      onUse: (bootable) => readiness.machinery?.warm.prepare(bootable),
    },
  );
  const running = (): Vm[] => vms.all;
  const syncMs = config.volumeSyncMs;
  const liveVolumes = new LiveVolumes({ local: localVolumes, running, syncMs, log });
  const { hostToken } = config;
  const front = createFront({ vms, store, images: images.all, readiness, hostToken, log });
  const ownUrl = await listen(front, config.listen);
  const url = config.publicUrl ?? ownUrl;
  const disk = await FreeDisk.open(run.disks);
  const told = Promise.withResolvers<void>();
  const onTold = told.resolve;
  const heartbeats = heartbeatsOf(base, { images: images.all, readiness, url, disk, onTold });
  events.on("changed", () => heartbeats.touch());
  heartbeats.start();
  if (abilities.qemu !== null) await images.base.start();
  heartbeats.hurry();
  const shown = { config, url, abilities, readiness, vms, run, disk, images, sweep };
  const saving = { localVolumes, liveVolumes, recordings: base.recordings };
  const parts = { ...saving, heartbeats, front, egress, told: told.promise };
  return new VmService({ ...shown, ...parts });
}

async function openBase(config: VmHostConfig, log: Log): Promise<Base> {
  const computer = await openComputer(config);
  const events: Events = new EventEmitter();
  const onChange = (): void => void events.emit("changed");
  const onShippable = (): void => void events.emit("shippable");
  const layersInUse = new LayersInUse();
  const store = await RecordStore.open({ ...config, layersInUse, onChange: onShippable, log });
  const isPaused = (id: string): boolean => store.pausedRecordOf(id) !== undefined;
  const local = { ...config, isPaused, onStored: onShippable, log };
  const localVolumes = await LocalVolumes.open(local);
  const volumes = new Volumes(localVolumes, log);
  const lanes = new Lanes();
  const homes = new Homes();
  const shareRecords = new ShareRecords(store, homes);
  const records = new PausedMachines({ store, shares: shareRecords, volumes, lanes, onChange });
  const recordings = await Recordings.open({ ...config, ...computer, log });
  const vms = new Vms({ records, recordings, volumes, log, onChange });
  const capacity = new Capacity(config.capacity);
  const machines = { capacity, lanes, homes, vms };
  const saved = { layersInUse, store, shareRecords, localVolumes, volumes, recordings };
  return { ...computer, config, log, events, ...machines, ...saved };
}

/** What is opened once an image is there needs these besides. */
interface Opening extends Base {
  images: HostImages;
  readiness: Readiness;
  sweep: CacheSweep;
}

/** Opens what makes machines, once an image is there. */
async function makeReady(opening: Opening, bootable: Bootable): Promise<void> {
  const { config, events, readiness, sweep, images, log } = opening;
  readiness.notReady(TRYING);
  try {
    const machinery = await openMachinery(opening, bootable);
    readiness.ready(machinery);
    const folder = goldenIn(config.cacheDir);
    const used = (): Bootable[] => images.all.bootables;
    void sweep.start(used, (now) => dropReplaced(folder, used(), now, log));
    log.info({ accelerator: machinery.driver.accelerator }, "machines_ready");
    void makeDesktopsReady(opening, machinery, bootable);
  } catch (error) {
    const reason = messageOf(error).slice(0, 500);
    readiness.notReady(reason);
    for (const image of [images.desktop, ...images.onUse]) image.giveUp(reason);
    log.error({ reason }, "machines_impossible");
  }
  events.emit("changed");
}

/** The image of desktops is looked for, and built, once the first sandbox is warm: a start waits for that one alone. */
async function makeDesktopsReady(
  { config, images, log }: Opening,
  { warm }: Machinery,
  bootable: Bootable,
): Promise<void> {
  const first = warm.keep(bootable, config.warm);
  try {
    for (const image of images.onUse) await image.start();
    await images.desktop.start(async () => void (await inTime(first, DESKTOP_PATIENCE_MS)));
  } catch (error) {
    log.error({ reason: messageOf(error) }, "desktops_impossible");
  }
}

async function openMachinery(opening: Opening, bootable: Bootable): Promise<Machinery> {
  const makers = await openMakers(opening, bootable);
  const saving = openSaving(opening, makers);
  const { driver, warm, placer } = makers;
  const { shipper, closing } = saving;
  const shared = openShared(opening, makers, saving);
  const { machines, states } = shared;
  const builds = openBuilds(opening, makers, saving);
  const { canRecord } = opening.recordings;
  const made = { driver, warm, placer, shared: machines, states, builds };
  return { ...made, shipper, canRecord, closing };
}

/** What makes machines that nobody owns yet, and gives them to sandboxes. */
async function openMakers(base: Base, bootable: Bootable) {
  const { config, log, events, capacity, vms, volumes, abilities } = base;
  const { hasEgress } = abilities;
  const folder = await openGoldenFolder(goldenIn(config.cacheDir));
  const driver = await openDriver(base, bootable, new Holds(folder));
  const budgetBytes = config.goldenBytes;
  const goldenMachines = new GoldenMachines({ driver, folder, budgetBytes, log, settle });
  const maker = new Maker(driver, goldenMachines, log, () => void events.emit("golden"));
  const onChange = (): void => void events.emit("changed");
  const warm = new WarmSets({ maker, log, onChange });
  events.on("golden", () => warm.fill());
  const placer = new Placer({ vms, maker, warm, capacity, volumes, hasEgress, log });
  return { driver, goldenMachines, maker, warm, placer };
}
type Makers = Awaited<ReturnType<typeof openMakers>>;

function openDriver(base: Base, { image }: Bootable, holds: Holds): Promise<QemuDriver> {
  const { config, run, confinement, cgroups, abilities, store, layersInUse } = base;
  const { cacheDir, saveMode } = config;
  return openQemu({
    version: abilities.qemu ?? "",
    image,
    cacheDir,
    runFolder: run.folder,
    confinement,
    cgroups,
    diskDir: store.layers,
    layersInUse,
    ...(saveMode && { saveMode }),
    onLayers: (below) => store.releaseLayers(below),
    onGolden: ({ key }, name, machineFolder) => holds.hold(key, name, machineFolder),
  });
}

/** What makes, finds, fetches and ships records. */
function openSaving(base: Base, { driver, goldenMachines }: Makers) {
  const { config, log, events, store, lanes, capacity, volumes } = base;
  const { gatewayUrl, hostToken, cacheDir, shipDelayMs: delayMs } = config;
  const closing = new AbortController();
  const objects = new ObjectStore({ gatewayUrl, hostToken, signal: closing.signal });
  const keeper = new RecordKeeper({ driver, goldenMachines, store, cacheDir, log });
  const fetcher = new Fetcher({ store, keeper, driver, goldenMachines, objects, capacity });
  const finder = new RecordFinder({ store, fetcher, log });
  const merger = new LayerMerger({ driver, store, keeper, log });
  const onDurable = (): void => void events.emit("changed");
  const shipping = { store, keeper, merger, lanes, objects, volumes, delayMs, log };
  const shipper = new Shipper({ ...shipping, onDurable });
  events.on("shippable", () => shipper.wake());
  // What an earlier run of the host left undone.
  shipper.wake();
  return { closing, keeper, finder, shipper };
}
type Saving = ReturnType<typeof openSaving>;

/** Homes and shares, and the changes of state of all machines. */
function openShared(base: Base, { placer }: Makers, { keeper, finder }: Saving) {
  const { log, events, store, lanes, homes, shareRecords, capacity, vms, volumes } = base;
  const { hasEgress } = base.abilities;
  const machines = new SharedMachines({ homes, vms, placer, capacity, hasEgress, log });
  const known = { keeper, vms, store, hasEgress, log };
  const shares = new ShareStates({ ...known, homes, machines, records: shareRecords });
  const starter = new RecordStarter({ ...known, capacity, volumes });
  const onChange = (): void => void events.emit("changed");
  const finding = { finder, starter, shares };
  const states = new VmStates({ ...known, ...finding, placer, volumes, lanes, onChange });
  return { machines, states };
}

function openBuilds(opening: Opening, makers: Makers, { keeper, finder }: Saving): Builds {
  const { config, log, events, store, capacity, abilities } = opening;
  const { driver, maker, goldenMachines } = makers;
  const { hasEgress } = abilities;
  const begin = {
    images: opening.images.all,
    driver,
    maker,
    goldenMachines,
    keeper,
    finder,
    hasEgress,
  };
  const bases = new Bases(begin);
  const steps = new StepCache(store, keeper, config.stepCacheBytes);
  const onChange = (): void => void events.emit("changed");
  return new Builds(store, { bases, steps, keeper, capacity, log }, onChange);
}
