import { type ChildProcess, spawn } from "node:child_process";
import { inTime, LATE } from "@svc/host-kit/deadline.ts";
import { inCgroups } from "@svc/host-kit/cgroups.ts";
import { run } from "../programs.ts";
import { type Confinement, confined } from "../qemu/confinement.ts";
import type { Size } from "../screen/messages.ts";

export const FFMPEG = "ffmpeg";
/** How long ffmpeg may take for one picture, or for its end, on a busy host. */
const PATIENCE_MS = 30_000;
/** More than this is no ten seconds of a screen. */
const MOST_BYTES = 24 * 1024 * 1024;
const WORDS_BYTES = 1_000;
const MEMORY_BYTES = 1536 * 1024 ** 2;
/** Of what one process may take: memory, no file, few descriptors, so many seconds of a processor. */
const LIMITS = [`--as=${MEMORY_BYTES}`, "--fsize=0", "--nofile=32", "--core=0", "--cpu=120"];
/** Machines come first. */
const NICE = ["nice", "-n", "10"];
const KBITS = 800;

/** Whether there is an ffmpeg that makes VP8. */
export async function hasEncoder(): Promise<boolean> {
  const encoders = await run(FFMPEG, ["-hide_banner", "-encoders"]).catch(() => "");
  return /\blibvpx\b/.test(encoders);
}

/** The computer's means against a program that is not trusted. */
export interface Bounds {
  confinement: Confinement | null;
  /** Cgroups of all encoders together. */
  groups: string[];
}

/** An encoder of VP8: pictures of one size go in, a stream of IVF comes out. It never sees a byte that a guest has made up. */
export class Vp8Encoder {
  readonly size: Size;
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  readonly #giveBack: () => void;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #words = "";

  constructor(size: Size, recorded: Size, { confinement, groups }: Bounds) {
    this.size = size;
    const uid = confinement?.take() ?? null;
    this.#giveBack = () => {
      if (uid !== null) confinement?.release(uid);
    };
    const limited = ["prlimit", ...LIMITS, "--", ...NICE, FFMPEG, ...argsOf(size, recorded)];
    const own = confined(limited, confinement, uid);
    // ffmpeg talks to nobody, where this process may see to that.
    const alone = confinement ? ["unshare", "--net", "--", ...own] : own;
    const [file = "", ...args] = inCgroups(groups, alone);
    // Nothing of this process's environment: it holds the host token.
    const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
    this.#child = spawn(file, args, { stdio: ["pipe", "pipe", "pipe"], env });
    const { stdin, stdout, stderr } = this.#child;
    // A write after the end of ffmpeg fails: how it ended is told.
    stdin?.on("error", () => null);
    stdout?.on("data", (chunk: Buffer) => this.#take(chunk));
    stderr?.on("data", (text) => {
      this.#words = (this.#words + String(text)).slice(-WORDS_BYTES);
    });
    this.#ended = new Promise<number | null>((resolve) => {
      this.#child.once("error", () => resolve(null));
      this.#child.once("close", resolve);
    }).finally(this.#giveBack);
  }

  /** How much has come out so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes the next picture. The pixels may change once this has resolved. */
  async add(pixels: Buffer): Promise<void> {
    const written = new Promise<void>((resolve, reject) => {
      this.#child.stdin?.write(pixels, (error) => (error ? reject(error) : resolve()));
    });
    const first = await inTime(Promise.race([written, this.#ended]), PATIENCE_MS);
    if (first === undefined) return;
    throw await this.#fault(first === LATE ? "takes no picture" : "has ended early");
  }

  /** All that came out of it, once it has ended. */
  async finish(): Promise<Buffer> {
    this.#child.stdin?.end();
    const code = await inTime(this.#ended, PATIENCE_MS);
    if (code !== 0) throw await this.#fault(code === LATE ? "does not end" : "failed");
    return Buffer.concat(this.#chunks);
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  #take(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MOST_BYTES) this.#child.kill("SIGKILL");
    else this.#chunks.push(chunk);
  }

  async #fault(what: string): Promise<Error> {
    await this.kill();
    return new Error(`${FFMPEG} ${what}: ${this.#words.trim()}`);
  }
}

function argsOf({ width, height }: Size, recorded: Size): string[] {
  const { width: across, height: down } = recorded;
  const isSame = width === across && height === down;
  // Another size than at first keeps its shape, in the middle of black.
  const fitted = `scale=${across}:${down}:force_original_aspect_ratio=decrease,pad=${across}:${down}:(ow-iw)/2:(oh-ih)/2`;
  // A picture that goes in comes out, in this order: their times are kept outside.
  const line = [
    "-hide_banner -loglevel error -threads 1",
    `-f rawvideo -pix_fmt rgb0 -s ${width}x${height} -r 4 -i pipe:0`,
    isSame ? "" : `-vf ${fitted}`,
    "-fps_mode passthrough -pix_fmt yuv420p -threads 1",
    "-c:v libvpx -deadline realtime -cpu-used 12 -lag-in-frames 0 -auto-alt-ref 0 -g 1000",
    `-b:v ${KBITS}k -f ivf pipe:1`,
  ];
  return line.join(" ").split(/ +/);
}
