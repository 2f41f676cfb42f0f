import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { CdpMux } from "../../../browser-pool/cdp/mux.ts";
import { CdpPipe } from "../../../browser-pool/cdp/pipe.ts";
import { fastFlags } from "../../../browser-pool/launch/flags.ts";
import { STEALTH_ENVIRONMENT, stealthFlags } from "../../../browser-pool/stealth/flags.ts";
import { FULL, type Screen, openScreen } from "./screen.ts";

/** Flags of every browser of these tests. */
const OWN_FLAGS = ["--no-sandbox", "--test-type", "--remote-debugging-pipe"];
/** Flags that say where a browser of the pool is, or that it has no window. */
const OF_PLACE =
  /^--(user-data-dir|proxy|remote|headless|window-size|hide-scrollbars|blink-settings)|^about:/;

export interface LaunchOptions {
  program?: string;
  flags: string[];
  env?: Readonly<Record<string, string>>;
}

/** As the pool launches a browser of kind `stealth`, but for sandbox, proxy and shared processes of sites. */
export const STEALTH: LaunchOptions = {
  flags: [...fastFlags("", 0).filter((flag) => !OF_PLACE.test(flag)), ...stealthFlags()],
  env: STEALTH_ENVIRONMENT,
};

/** A Chromium with the project's own multiplexer, on a screen of its own, without the slots of a pool. */
export class HeadedBrowser {
  readonly mux: CdpMux;
  readonly #screen: Screen;
  readonly #browser: ChildProcess;
  readonly #profile: string;

  private constructor(screen: Screen, browser: ChildProcess, profile: string) {
    this.#screen = screen;
    this.#browser = browser;
    this.#profile = profile;
    const [, , , input, output]: unknown[] = browser.stdio;
    if (!(input instanceof Writable) || !(output instanceof Readable))
      throw new Error("the browser has no pipes");
    this.mux = new CdpMux(new CdpPipe(input, output), () => {});
  }

  static async launch({ program = FULL, flags, env = {} }: LaunchOptions): Promise<HeadedBrowser> {
    const screen = await openScreen();
    const profile = await mkdtemp(join(tmpdir(), "headed-"));
    const args = [...OWN_FLAGS, `--user-data-dir=${profile}`, ...flags, "about:blank"];
    const browser = spawn(program, args, {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
      env: { PATH: "/usr/bin:/bin", DISPLAY: screen.display, ...env },
      detached: true,
    });
    return new HeadedBrowser(screen, browser, profile);
  }

  async close(): Promise<void> {
    if (this.#browser.pid !== undefined && this.#browser.exitCode === null) {
      const ended = once(this.#browser, "exit");
      process.kill(-this.#browser.pid, "SIGKILL");
      await ended;
    }
    this.#screen.close();
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
