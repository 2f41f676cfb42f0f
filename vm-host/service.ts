import type { Server } from "node:http";
import type { HeartbeatReply } from "@svc/contract/host-protocol/heartbeat.ts";
import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import type { VmHeartbeat } from "@svc/contract/host-protocol/vms.ts";
import { VM_SIZES } from "@svc/contract/vm/machine.ts";
import { Cgroups } from "@svc/host-kit/cgroups.ts";
import { Heartbeats } from "@svc/host-kit/heartbeats.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { VmHostConfig } from "./config.ts";
import type { VmDriver } from "./driver.ts";
import { type Acts, openActs } from "./assembly.ts";
import { buildMeans } from "./builds/means.ts";
import { Images } from "./images/images.ts";
import { type Ground as ImageGround, ImageKeeper } from "./images/keeper.ts";
import { CacheSweep } from "./images/sweep.ts";
import { BASE } from "./images/recipe.ts";
import { type Run, openRun } from "./janitor.ts";
import { type MachineRoom, openMachineRoom, qemuVersion } from "./machine-room.ts";
import { Egress } from "./network/egress.ts";
import { Confinement } from "./qemu/confinement.ts";
import { QEMU } from "./qemu/driver.ts";
import { type Ground, freeDisk, snapshotOf, weaknessesOf } from "./heartbeat.ts";
import { createFront } from "./server/front.ts";
import { DurableNews } from "./snapshots/durable-snapshots.ts";
import { type RecordRoom, openRecordRoom } from "./snapshots/room.ts";
import { Store } from "./snapshots/store.ts";
import { Shelf } from "./machines/warm-machines.ts";
import { Capacity } from "./machines/capacity.ts";
import type { Vms } from "./machines/vms.ts";
import { Volumes } from "./volumes/volumes.ts";

const DISK_CHECK_MS = 5_000;
/** What of the time to stop is left for all that comes after the pauses. */
const AFTER_PAUSES_MS = 1_500;

/** A line of the banner of `npm start`. */
export interface TableLine {
  what: string;
  on: boolean;
  note: string;
}

/** What a host stands on. */
interface Foundation {
  run: Run;
  confinement: Confinement | null;
  cgroups: Cgroups | null;
  egress: Egress | null;
  ground: Ground;
  store: Store;
  volumes: Volumes;
}

/** A whole VM host: its machines, its HTTP front and its place in the fleet. */
export class VmService {
  readonly vms: Vms;
  url = "";
  readonly #config: VmHostConfig;
  readonly #log: Log;
  readonly #foundation: Foundation;
  readonly #capacity: Capacity;
  readonly #keeper: ImageKeeper;
  readonly #images: Images;
  readonly #acts: Acts;
  readonly #sweep: CacheSweep;
  readonly #front: Server;
  readonly #heartbeats: Heartbeats<VmHeartbeat>;
  #driver: VmDriver | null = null;
  #platform: HostPlatform | null = null;
  #shelf: Shelf | null = null;
  #records: RecordRoom | null = null;
  readonly #news: DurableNews;
  #freeDiskGb = 0;
  #diskCheck: NodeJS.Timeout | undefined;

  private constructor(config: VmHostConfig, log: Log, foundation: Foundation) {
    this.#config = config;
    this.#log = log;
    this.#foundation = foundation;
    const { hostToken, gatewayUrl, hostId } = config;
    const onChange = (): void => this.#heartbeats.touch();
    const capacity = new Capacity(config.room);
    this.#capacity = capacity;
    const { hasEgress } = foundation.ground;
    const { store, volumes } = foundation;
    this.#news = new DurableNews(store);
    const acts = openActs({ capacity, store, volumes, hasEgress, log, onChange });
    this.#acts = acts;
    this.vms = acts.vms;
    this.#keeper = new ImageKeeper({
      ...config,
      recipe: BASE,
      log,
      onReady: (ground) => void this.#openRoom(ground),
      onChange,
    });
    this.#sweep = new CacheSweep(config.cacheDir, log);
    this.#images = new Images({ [BASE.name]: this.#keeper });
    this.#images.hint = foundation.ground.qemu === null ? NO_QEMU : null;
    this.#front = createFront({ ...acts, images: this.#images, hostToken, log });
    this.#heartbeats = new Heartbeats({
      gatewayUrl,
      hostId,
      hostToken,
      log,
      call: fetch,
      nextBeat: () => this.#snapshot(),
      onAnswer: (reply, beat) => this.#answered(reply, beat),
    });
  }

  /** Opens the front and starts to beat. Returns before an image or a machine is there. */
  static async start(config: VmHostConfig, log: Log): Promise<VmService> {
    const run = await openRun(config.stateDir, config.cacheDir);
    const confinement = Confinement.of(run.seed);
    const cgroups = confinement && (await Cgroups.make(run.name));
    const egress = await Egress.open(run.name, confinement, config.egressAllow);
    const qemu = await qemuVersion();
    const means = { isConfined: confinement !== null, isCapped: cgroups !== null };
    const ground = { ...means, hasEgress: egress !== null, qemu };
    const store = await Store.open(config.cacheDir, config.stateDir, log);
    const volumes = await Volumes.open({ ...config, syncMs: config.volumeSyncMs, log });
    const foundation = { run, confinement, cgroups, egress, ground, store, volumes };
    const service = new VmService(config, log, foundation);
    volumes.start(
      (id) => service.#acts.states.has(id),
      () => service.vms.all,
    );
    await service.#listen();
    await service.#checkDisk();
    service.#diskCheck = setInterval(() => void service.#checkDisk(), DISK_CHECK_MS);
    service.#heartbeats.start();
    if (qemu !== null) await service.#keeper.start();
    return service;
  }

  /** What the banner says of this host. */
  get table(): TableLine[] {
    const { ground } = this.#foundation;
    const weak = weaknessesOf(ground).join(" ");
    const isReady = this.#keeper.ground !== null;
    const state = isReady
      ? `QEMU ${ground.qemu}, ${this.#config.warm} warm, SVC_WARM_VM=n keeps more ready`
      : this.#keeper.hint;
    const note = [ground.qemu === null ? NO_QEMU : state, weak].filter(Boolean).join(" ");
    return [{ what: "sandboxes", on: isReady, note }];
  }

  /** Pauses every machine that has an owner, ends the others, and leaves nothing but the records. */
  async stop(): Promise<void> {
    clearInterval(this.#diskCheck);
    this.#keeper.close();
    this.#sweep.close();
    this.vms.isDraining = true;
    await this.#acts.states.pauseAll(this.#config.stopMs - AFTER_PAUSES_MS);
    this.#foundation.volumes.close();
    await this.#records?.close();
    await this.#driver?.close();
    await this.#acts.builds.close();
    await this.vms.close();
    await this.#shelf?.close();
    await this.#heartbeats.stop();
    this.#front.close();
    this.#front.closeAllConnections();
    await this.#foundation.egress?.close();
    await this.#foundation.run.close();
  }

  async #openRoom(ground: ImageGround): Promise<void> {
    this.#images.hint = TRYING;
    try {
      const { run, confinement, cgroups, store, ground: machine } = this.#foundation;
      const version = machine.qemu ?? "";
      const onTemplate = (): void => this.#shelf?.fill();
      const common = { config: this.#config, log: this.#log, version, store };
      const options = { ...common, run, confinement, cgroups, onTemplate };
      const room = await openMachineRoom(ground, options);
      this.#opened(ground, room);
    } catch (error) {
      this.#images.hint = messageOf(error).slice(0, 500);
      this.#log.error({ reason: this.#images.hint }, "no machines can be made");
    }
    this.#heartbeats.touch();
  }

  #opened(ground: ImageGround, { driver, maker, templates, platform }: MachineRoom): void {
    const onChange = (): void => this.#heartbeats.touch();
    this.#driver = driver;
    this.#platform = platform;
    const { store, volumes, ground: machine } = this.#foundation;
    const { hasEgress } = machine;
    const common = { config: this.#config, capacity: this.#capacity, log: this.#log };
    const made = { ...common, driver, templates, store };
    const { states } = this.#acts;
    const records = openRecordRoom({ ...made, states, volumes, onDurable: onChange });
    this.#records = records;
    const images = this.#images;
    this.#acts.builds.open(buildMeans({ ...made, ...records, images, maker, hasEgress }));
    this.#shelf = new Shelf(maker, this.#config.warm, onChange);
    this.vms.open(maker, this.#shelf);
    this.#images.hint = null;
    void this.#sweep.start(ground);
    this.#log.info({ accelerator: driver.accelerator }, "machines can be made");
    if (this.#config.warm === 0) return;
    const usual = { ...ground, cpu: VM_SIZES.cpu.default, memMb: VM_SIZES.memMb.default };
    this.#shelf.stock(usual);
    maker.prepare(usual);
  }

  async #listen(): Promise<void> {
    const { host, port } = this.#config.listen;
    await new Promise<void>((resolve, reject) => {
      this.#front.once("error", reject);
      this.#front.listen(port, host, resolve);
    });
    const address = this.#front.address();
    if (address === null || typeof address === "string") throw new Error("no address");
    const name = host.includes(":") ? `[${host}]` : host;
    this.url = this.#config.publicUrl ?? `http://${name}:${address.port}`;
  }

  async #checkDisk(): Promise<void> {
    this.#freeDiskGb = await freeDisk(this.#foundation.run.disks);
  }

  #snapshot(): VmHeartbeat {
    return snapshotOf({
      config: this.#config,
      ground: this.#foundation.ground,
      vms: this.vms,
      capacity: this.#capacity,
      images: this.#images,
      driver: this.#driver,
      platform: this.#platform,
      warm: this.#shelf?.idle ?? 0,
      url: this.url,
      freeDiskGb: this.#freeDiskGb,
      templates: this.#acts.builds.held,
      durableSnapshots: this.#news.next,
    });
  }

  #answered(reply: HeartbeatReply, beat: VmHeartbeat): void {
    this.vms.forget(beat.vms);
    this.#news.heard(beat.durableSnapshots ?? []);
    for (const id of reply.end) void this.vms.end(id);
  }
}

const NO_QEMU = `${QEMU} is missing: apt-get install --no-install-recommends qemu-system-x86 qemu-utils.`;
const TRYING = "The first machine of this host is being tried.";
