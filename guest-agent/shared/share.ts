import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { RequestContext } from "@svc/contract/control-channel/rpc-server.ts";
import type {
  SharePort,
  ShareSpec,
  ShareUsage,
} from "@svc/contract/control-channel/share-methods.ts";
import { type ChildProcess, spawn } from "node:child_process";
import { readFile, statfs, writeFile } from "node:fs/promises";
import { Duplex } from "node:stream";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { bundleOf } from "./bundle.ts";
import { type SharePlace, placeOf } from "./place.ts";

const WORDS_BYTES = 2_000;
const FREEZE_PAUSE_MS = 5;
const FREEZE_TRIES = 1_000;

/** A share that runs: a process tree in namespaces and a cgroup of its own, with an agent that answers for it. */
export class Share {
  readonly spec: ShareSpec;
  readonly place: SharePlace;
  /** The last byte of its address. */
  readonly address: number;
  /** Resolves with the last words of its runtime when every process of it has ended. */
  readonly gone: Promise<string>;
  readonly #ports: Record<SharePort, Duplex>;
  readonly #taken: Partial<Record<SharePort, object>> = {};

  private constructor(spec: ShareSpec, address: number, child: ChildProcess) {
    this.spec = spec;
    this.place = placeOf(spec.id);
    this.address = address;
    this.#ports = { control: duplexOf(child, 3), bulk: duplexOf(child, 4) };
    let words = "";
    child.stderr?.on("data", (text) => (words = (words + String(text)).slice(-WORDS_BYTES)));
    this.gone = new Promise((resolve) => {
      child.once("error", (error) => resolve(String(error)));
      child.once("exit", () => resolve(words));
    });
    void this.gone.then(() => {
      for (const port of Object.values(this.#ports)) port.destroy();
    });
  }

  /** Starts its first process, once disk and network are there. */
  static async start(spec: ShareSpec, address: number): Promise<Share> {
    const place = placeOf(spec.id);
    await writeFile(join(place.folder, "config.json"), JSON.stringify(bundleOf(spec, place)));
    const args = ["--cgroup-manager=cgroupfs", "run", "--preserve-fds=2", "-b", place.folder];
    // Two pairs of sockets: 3 and 4 in the share, our ends here.
    const stdio = ["ignore", "ignore", "pipe", "pipe", "pipe"] as const;
    return new Share(spec, address, spawn("crun", [...args, spec.id], { stdio: [...stdio] }));
  }

  /** Passes bytes both ways until the share ends, or the caller gives up; then the port waits for the next one. */
  async dial(port: SharePort, { stream, signal }: RequestContext): Promise<Record<string, never>> {
    const socket = this.#ports[port];
    const turn = {};
    this.#taken[port] = turn;
    const isOurs = (): boolean => this.#taken[port] === turn && !signal.aborted;
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    stopped.catch(() => {});
    const onData = async (chunk: Buffer): Promise<void> => {
      socket.pause();
      if ((await stream.write(1, chunk)) && isOurs()) socket.resume();
    };
    const stop = (): void => {
      socket.off("data", onData);
      if (this.#taken[port] === turn) socket.pause();
      reject(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
    socket.removeAllListeners("data");
    socket.on("data", onData);
    socket.resume();
    stream.onBytes(async (_channel, bytes) => {
      if (bytes.length > 0 && isOurs() && socket.writable && !socket.write(bytes))
        await drained(socket);
    });
    await Promise.race([this.gone, stopped]);
    stream.end(1);
    return {};
  }

  /** What its cgroup and its disk say. */
  async read(): Promise<ShareUsage> {
    const { cgroup, disk } = this.place;
    const file = (name: string): Promise<string> => readFile(join(cgroup, name), "utf8");
    const [current, stat, found] = await Promise.all([
      file("memory.current"),
      file("cpu.stat"),
      statfs(disk),
    ]).catch(() => {
      throw refuse("NotFound", "The share has ended.");
    });
    return {
      cpuMs: Number(/^usage_usec (\d+)/m.exec(stat)?.[1] ?? 0) / 1000,
      memBytes: Number(current),
      memTotalBytes: this.spec.memMb * 1024 * 1024,
      diskTotalBytes: found.blocks * found.bsize,
      diskBytes: (found.blocks - found.bfree) * found.bsize,
    };
  }

  async freeze(isFrozen: boolean): Promise<void> {
    const { cgroup } = this.place;
    await writeFile(join(cgroup, "cgroup.freeze"), isFrozen ? "1" : "0");
    const wanted = isFrozen ? "frozen 1" : "frozen 0";
    for (let tries = 0; tries < FREEZE_TRIES; tries += 1) {
      if ((await readFile(join(cgroup, "cgroup.events"), "utf8")).includes(wanted)) return;
      await pause(FREEZE_PAUSE_MS);
    }
    throw refuse("Unsupported", "The share does not stand still.");
  }

  /** Ends every process of it. */
  async kill(): Promise<void> {
    // Before its cgroup is there it has not begun; after it, it has ended.
    await writeFile(join(this.place.cgroup, "cgroup.kill"), "1").catch(() => {});
  }
}

function duplexOf(child: ChildProcess, index: number): Duplex {
  const stream = child.stdio[index];
  if (!(stream instanceof Duplex)) throw new Error("a share without its ports");
  stream.on("error", () => stream.destroy());
  return stream;
}

function drained(socket: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off("drain", done);
      socket.off("close", done);
      resolve();
    };
    socket.on("drain", done);
    socket.on("close", done);
  });
}
