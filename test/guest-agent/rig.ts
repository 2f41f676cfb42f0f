import type { Channel } from "@svc/contract/control-channel/binary-frame.ts";
import { HOST_METHODS } from "@svc/contract/control-channel/host-methods.ts";
import type { Identity, IdentityDone } from "@svc/contract/control-channel/identity.ts";
import { Link } from "@svc/contract/control-channel/link.ts";
import { METHODS } from "@svc/contract/control-channel/methods.ts";
import { RpcClient, type Shapes } from "@svc/contract/control-channel/rpc-client.ts";
import { FIRST_SYNC_WORD } from "@svc/contract/control-channel/sync-word.ts";
import { HELPER_SCRIPT } from "@svc/guest-agent/launcher/script.ts";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmdirSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { type Socket, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const UNIFIED = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].find((path) =>
  existsSync(join(path, "cgroup.procs")),
);
const SET_CLOCK = "syscall($nr{clock_settime}, 0, $when) == 0";

let slept = 0;

/** Seconds to sleep, much longer than any test: as an argument it is nobody else's on this computer. */
export function ownSleep(): string {
  slept += 1;
  return `864${String(slept).padStart(2, "0")}.${process.pid}`;
}

/** Why this machine cannot group commands, or nothing. */
export const missingCgroups = process.getuid?.() === 0 && UNIFIED ? undefined : "no cgroup 2";

export interface Heard {
  method: string;
  params: Record<string, unknown>;
}

/** The host's end of one port. */
export class HostPort {
  readonly link: Link;
  readonly socket: Socket;
  readonly heard: Heard[] = [];
  #client: RpcClient<typeof HOST_METHODS> | null = null;
  #wake: () => void = () => {};

  private constructor(socket: Socket, word: Uint8Array) {
    this.socket = socket;
    this.link = new Link({
      transport: { write: (bytes) => void socket.write(bytes), whenWritable: () => null },
      word,
      isGuest: false,
      accept: (_connection, wire) => (this.#client = this.#listen(wire, HOST_METHODS)),
    });
    socket.on("data", (chunk: Buffer) => this.link.receive(chunk));
    socket.on("error", () => {});
    socket.on("close", () => this.link.closed("the port is gone"));
    this.link.sync();
  }

  static async connect(path: string, word: Uint8Array): Promise<HostPort> {
    const socket = connect(path);
    await once(socket, "connect");
    return new HostPort(socket, word);
  }

  /** Connection 0 of the present life. */
  get host(): RpcClient<typeof HOST_METHODS> {
    if (!this.#client) throw new Error("the port has no life yet");
    return this.#client;
  }

  /** A connection as a customer's control socket gets one. */
  customer(): { client: RpcClient<typeof METHODS>; connection: number } {
    let client: RpcClient<typeof METHODS> | null = null;
    const connection = this.link.open((_number, wire) => (client = this.#listen(wire, METHODS)));
    if (!client || connection === null) throw new Error("no connection was opened");
    return { client, connection };
  }

  /** Resolves once a notification is there that fits. */
  async hears(fits: (heard: Heard) => boolean): Promise<Heard> {
    for (;;) {
      const found = this.heard.find(fits);
      if (found) return found;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #listen<Known extends Shapes>(
    wire: ConstructorParameters<typeof RpcClient>[0],
    shapes: Known,
  ): RpcClient<Known> {
    return new RpcClient(wire, shapes, (method, params) => {
      this.heard.push({ method, params });
      this.#wake();
    });
  }
}

export function identity(changes: Partial<Identity> = {}): Identity {
  return {
    generation: 1,
    kind: "sandbox",
    bootId: "boot-1",
    nowMs: 1_795_816_000_123,
    entropy: "ab".repeat(32),
    hostname: "sbx-1",
    machineId: "0123456789abcdef0123456789abcdef",
    nameServers: ["10.0.2.3"],
    envs: { GREETING: "hello" },
    nextSyncWord: "cd".repeat(32),
    ...changes,
  };
}

/** A real agent in a process of its own, over unix sockets, kept to a temporary folder. */
export class AgentRig {
  readonly folder: string;
  readonly home: string;
  readonly cgroup: string | null;
  #control: HostPort | null = null;
  #bulk: HostPort | null = null;
  #child: ChildProcess | null = null;

  private constructor(folder: string, cgroup: string | null) {
    this.folder = folder;
    this.home = join(folder, "home");
    this.cgroup = cgroup;
  }

  static async start({ hasIdentity = true } = {}): Promise<AgentRig> {
    const folder = await mkdtemp(join(tmpdir(), "svc-agent-"));
    const cgroup = missingCgroups
      ? null
      : join(UNIFIED ?? "", folder.slice(folder.lastIndexOf("/") + 1));
    if (cgroup) mkdirSync(cgroup);
    await mkdir(join(folder, "root/proc/sys/kernel"), { recursive: true });
    const rig = new AgentRig(folder, cgroup);
    await rig.boot();
    await rig.connect(FIRST_SYNC_WORD);
    if (hasIdentity) await rig.identify();
    return rig;
  }

  /** The identity step, as the host does it in every life. */
  async identify(who = identity()): Promise<IdentityDone> {
    const done = await this.control.host.ask("identity.set", who);
    const word = Buffer.from(who.nextSyncWord, "hex");
    this.control.link.useWord(word);
    if (this.#bulk) this.#bulk.link.useWord(word);
    else {
      this.#bulk = await HostPort.connect(join(this.folder, "bulk.sock"), word);
      // The agent has read this word before it is given the next one, however slow it is.
      await this.#bulk.host.ask("rpc.ping", {});
    }
    return done;
  }

  get control(): HostPort {
    if (!this.#control) throw new Error("the host is not connected");
    return this.#control;
  }

  /** There from the identity step on. */
  get bulk(): HostPort {
    if (!this.#bulk) throw new Error("the machine has no identity");
    return this.#bulk;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** What the helper was told about the clock: seconds and nanoseconds. */
  get clock(): string {
    return readFileSync(join(this.folder, "clock"), "utf8");
  }

  /** Starts the agent, as the machine's init does. */
  async boot(): Promise<void> {
    await rm(join(this.folder, "ctl.sock"), { force: true });
    await rm(join(this.folder, "bulk.sock"), { force: true });
    const script = HELPER_SCRIPT.replace(SET_CLOCK, 'put($ARGV[1], "$seconds $nanos")');
    if (script === HELPER_SCRIPT) throw new Error("the helper would set this machine's clock");
    const child = spawn(process.execPath, ["guest-agent/main.ts"], {
      env: {
        PATH: process.env["PATH"],
        SVC_AGENT_CONTROL: join(this.folder, "ctl.sock"),
        SVC_AGENT_BULK: join(this.folder, "bulk.sock"),
        SVC_AGENT_CGROUP: this.cgroup ?? "",
        SVC_AGENT_HOME: this.home,
        SVC_AGENT_ROOT: join(this.folder, "root"),
        SVC_AGENT_HELPER: JSON.stringify([
          "perl",
          "-e",
          script,
          process.arch,
          join(this.folder, "clock"),
        ]),
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    const up = once(child.stdout, "data");
    const died = once(child, "exit").then(() =>
      Promise.reject(new Error("the agent did not start")),
    );
    died.catch(() => {});
    await Promise.race([up, died]);
  }

  /** Connects the host's control port, as after a clone or a resume; the other one comes with the identity. */
  async connect(word: Uint8Array): Promise<void> {
    this.disconnect();
    this.#control = await HostPort.connect(join(this.folder, "ctl.sock"), word);
  }

  /** The host's ends go, as when the machine is paused. */
  disconnect(): void {
    this.#control?.socket.destroy();
    this.#bulk?.socket.destroy();
    this.#bulk = null;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }

  async close(): Promise<void> {
    this.disconnect();
    await this.kill();
    if (this.cgroup) await removeGroups(this.cgroup);
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function removeGroups(cgroup: string): Promise<void> {
  const kill = spawn(
    "sh",
    ["-c", `echo 1 > ${cgroup}/cgroup.kill; find ${cgroup} -depth -type d`],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const text = (await kill.stdout.toArray()).join("");
  for (const folder of text.split("\n").filter(Boolean)) {
    // Its processes are dead or dying: the kernel lets go of the folder when they are reaped.
    for (let tries = 0; tries < 3_000 && existsSync(folder); tries += 1) {
      try {
        rmdirSync(folder);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  }
}

/** Collects what a call sends, by channel. */
export class Output {
  readonly parts: Record<Channel, Buffer[]> = { 0: [], 1: [], 2: [], 3: [] };
  readonly onBytes = (channel: Channel, bytes: Uint8Array): void => {
    this.parts[channel].push(Buffer.from(bytes));
  };

  get bytes(): number {
    return this.stdout.length + this.stderr.length;
  }

  get stdout(): Buffer {
    return Buffer.concat(this.parts[1]);
  }

  get stderr(): Buffer {
    return Buffer.concat(this.parts[2]);
  }
}
