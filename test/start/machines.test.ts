import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { missingMachine } from "../vm-host/rig/needs.ts";
import { START_MS, Service, stateDir } from "./service.ts";

const isRoot = process.getuid?.() === 0;
const hindrance = await missingMachine();
const LONG = 5 * START_MS;

const lineOf = (service: Service): string =>
  service.lines.find((line) => /^ +(on|off) +sandboxes /.test(line)) ?? "";

/** A state folder with an empty cache in it. */
function emptyCache() {
  const folder = stateDir();
  const cache = join(folder, "cache");
  mkdirSync(cache);
  return { folder, cache };
}

describe.skipIf(process.platform !== "linux")("machines under npm start", { timeout: LONG }, () => {
  test("without an image the rest works, and the banner has the line that makes one", async () => {
    const { folder, cache } = emptyCache();
    await using service = await Service.ready({ SVC_CACHE_DIR: cache }, folder);
    expect(lineOf(service)).toMatch(/^ +off +sandboxes +.*npm run images|qemu/);
    expect(await service.health()).toBe(200);
  });

  test.skipIf(!isRoot)(
    "an image that is being built is said with how far it is, and its build ends with the service",
    async () => {
      const { folder, cache } = emptyCache();
      const env = { SVC_CACHE_DIR: cache, SVC_BUILD_IMAGES: "1" };
      await using service = await Service.ready(env, folder);
      expect(lineOf(service)).toMatch(/^ +off +sandboxes +Image base is being built: \d+ %/);
      const isAtWork = () => service.family().some(({ command }) => command.includes("mmdebstrap"));
      await expect.poll(isAtWork, { timeout: START_MS }).toBe(true);
      const family = service.family();
      process.kill(service.process("supervisor").pid, "SIGTERM");
      await service.expectNothingLeft(family);
    },
  );

  test.skipIf(hindrance !== undefined || !isRoot)(
    "without QEMU sandboxes are off and nothing else",
    async () => {
      const qemu = spawnSync("which", ["qemu-system-x86_64"], { encoding: "utf8" }).stdout.trim();
      // Gone for the service alone: in a mount namespace of its own.
      const hide = `mount --bind /dev/null ${qemu} && exec "$@"`;
      const before = ["unshare", "--mount", "sh", "-c", hide, "sh"];
      await using service = await Service.ready({ SVC_NO_INSTALL: "1" }, stateDir(), before);
      expect(lineOf(service)).toMatch(/^ +off +sandboxes +qemu-system-x86_64 is missing: apt-get/);
      const said = service.lines.join("\n");
      expect(said).toContain("sandboxes are off, to turn them on: sudo apt-get install");
      expect(said).toMatch(/^ {2}on +browsers \(fast\)/m);
      expect(await service.health()).toBe(200);
    },
  );

  test.skipIf(hindrance !== undefined)(
    "a service with a warm machine leaves nothing of it",
    async () => {
      const folder = stateDir();
      // Machines' users pass through to the run's folder.
      chmodSync(folder, 0o711);
      await using service = await Service.ready({ SVC_WARM_VM: "1", TMPDIR: folder }, folder);
      expect(lineOf(service)).toMatch(/^ +on +sandboxes +QEMU \d/);
      const hasMachine = () =>
        service.family().some(({ command }) => command.includes("-incoming defer"));
      // Its template may have to be made first.
      await expect.poll(hasMachine, { timeout: 3 * START_MS, interval: 500 }).toBe(true);
      const family = service.family();
      process.kill(service.process("supervisor").pid, "SIGTERM");
      await service.expectNothingLeft(family);
      expect(readdirSync(folder).filter((name) => name.startsWith("svcvm-"))).toEqual([]);
    },
  );
});
