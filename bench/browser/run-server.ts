import { mkdirSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as z from "zod";
import { tempFolder } from "../service/endings.ts";
import { Program } from "../service/program.ts";

const require = createRequire(import.meta.url);
const PACKAGE = dirname(require.resolve("playwright-core/package.json"));
const Browsers = z.object({
  browsers: z.array(z.object({ name: z.string(), revision: z.string() })),
});

/** Where Playwright looks for its headless shell, below the folder of its browsers. */
const SHELL = {
  x64: "chrome-headless-shell-linux64/chrome-headless-shell",
  arm64: "chrome-linux/headless_shell",
} as const;

/** The peer: Playwright's own server, with the Chromium that the pool starts. Resolves with its WebSocket URL. */
export async function startRunServer(chromium: string): Promise<string> {
  const folder = tempFolder();
  const shell = join(folder, `chromium_headless_shell-${revision()}`, shellPath());
  mkdirSync(dirname(shell), { recursive: true });
  symlinkSync(chromium, shell);
  const cli = join(PACKAGE, "cli.js");
  const server = new Program([cli, "run-server", "--port", "0", "--host", "127.0.0.1"], {
    PLAYWRIGHT_BROWSERS_PATH: folder,
    PLAYWRIGHT_SKIP_VALIDATE_HOST_REQUIREMENTS: "1",
  });
  return server.says(/Listening on (ws:\S+)/);
}

function revision(): string {
  const browsers: unknown = require(join(PACKAGE, "browsers.json"));
  const shell = Browsers.parse(browsers).browsers.find(
    ({ name }) => name === "chromium-headless-shell",
  );
  if (!shell) throw new Error("this Playwright names no chromium-headless-shell");
  return shell.revision;
}

function shellPath(): string {
  return process.arch === "arm64" ? SHELL.arm64 : SHELL.x64;
}
