import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { VmRefused } from "@svc/contract/host-protocol/vms.ts";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { cacheDirOf } from "../../../vm-host/config.ts";
import { BASE } from "../../../vm-host/images/base.ts";
import { buildHindrance } from "../../../vm-host/images/build.ts";
import { ImageKeeper } from "../../../vm-host/images/keeper.ts";
import type { Recipe } from "../../../vm-host/images/recipe.ts";
import { createLog } from "@svc/host-kit/log.ts";
import { missingDesktop } from "../rig/needs.ts";
import { Rig } from "../rig/rig.ts";

const LONG = 600_000;
const PATIENCE = { timeout: LONG, interval: 500 };

/** Stands for the agent: no machine is booted. */
const AGENT = fileURLToPath(new URL("../../../vm-host/images/desktop", import.meta.url));

/** As little as a machine can have. */
const SMALL: Recipe = {
  ...BASE,
  name: "small",
  // For the kernel's modules, and the first run of Python.
  packages: ["kmod", "python3-minimal"],
  modules: [],
  links: {},
  files: { "/etc/small": "small\n" },
  warmUp: "1",
  sizeGb: 1,
};

/** A cache folder with the images that every host builds, the kernel of their build, and no other image. */
function cacheWithout(): string {
  const cache = join(cacheDirOf(process.env), "images");
  const folder = mkdtempSync(join(tmpdir(), "vmcache-"));
  mkdirSync(join(folder, "images/steps"), { recursive: true });
  const own = readdirSync(cache).filter((name) =>
    /^([0-9a-f]{16}|(base|desktop)\.json)$/.test(name),
  );
  const kernels = readdirSync(join(cache, "steps")).filter((name) => name.startsWith("kernel-"));
  for (const path of [...own, ...kernels.map((name) => `steps/${name}`)])
    symlinkSync(join(cache, path), join(folder, "images", path));
  // Machines' users pass through.
  chmodSync(folder, 0o755);
  return folder;
}

const isImpossible = (await missingDesktop()) !== undefined || (await buildHindrance()) !== null;

describe.skipIf(isImpossible)("an image that is built on first use", { timeout: LONG }, () => {
  const cacheDir = cacheWithout();
  // A build that was broken off may still be ending.
  afterAll(() => rmSync(cacheDir, { recursive: true, maxRetries: 20, retryDelay: 250 }));

  function keeperOf(recipe: Recipe): { keeper: ImageKeeper; ready: string[]; builds: string[] } {
    const ready: string[] = [];
    const builds: string[] = [];
    const keeper = new ImageKeeper({
      cacheDir,
      agentDir: AGENT,
      recipe,
      mayBuild: true,
      log: createLog("test", "silent"),
      onReady: ({ image }) => void ready.push(image.name),
      onChange: () => {},
      onUse: (build) => {
        builds.push(recipe.name);
        return build();
      },
    });
    onTestFinished(() => keeper.close());
    return { keeper, ready, builds };
  }

  test("waits for that, is built once, in the background, and is there", async () => {
    const { keeper, ready, builds } = keeperOf(SMALL);
    await keeper.start();
    expect(keeper.report()).toMatchObject({ state: "missing", onUse: true });
    keeper.use();
    keeper.use();
    expect(keeper.report()).toMatchObject({ state: "building", percent: 0 });
    expect(keeper.hint).toBe("Image small is being built: 0 %, waiting.");
    await expect.poll(() => keeper.report().percent ?? 100, PATIENCE).toBeGreaterThan(0);
    keeper.use();
    // One that has failed is over, too.
    await expect.poll(() => keeper.report().state, PATIENCE).not.toBe("building");
    expect(keeper.report()).toEqual({ name: "small", state: "ready" });
    expect([ready, builds]).toEqual([["small"], ["small"]]);
    keeper.use();
    expect(builds).toEqual(["small"]);
  });

  test.each([
    ["has a package that is nowhere", { packages: ["no-such-package"] }, "no-such-package"],
    ["is larger than the disk", { sizeGb: 1_000_000 }, "needs 2000000 GiB of disk"],
  ])("that %s says why it is not built, and is not tried again by every use", async (...of) => {
    const [, facts, why] = of;
    const { keeper, builds } = keeperOf({ ...SMALL, name: "broken", ...facts });
    await keeper.start();
    keeper.use();
    const failed = { state: "missing", hint: expect.stringContaining(why) };
    await expect.poll(() => keeper.report(), PATIENCE).toMatchObject(failed);
    expect(keeper.report()).not.toHaveProperty("onUse");
    keeper.use();
    expect(builds).toEqual(["broken"]);
  });

  test("is begun by the create that a host refuses for it, and machines are made meanwhile", async () => {
    const rig = await Rig.start({ env: { SVC_CACHE_DIR: cacheDir, SVC_BUILD_IMAGES: "1" } });
    onTestFinished(() => rig.stop());
    await rig.gateway.beat(({ capabilities }) => capabilities.includes("desktop"));
    const stateOf = (name: string) => rig.gateway.last?.images.find((one) => one.name === name);
    await expect.poll(() => stateOf("office"), PATIENCE).toMatchObject({ onUse: true });
    const source = { type: "image", name: "office" } as const;
    const response = await rig.put("writer", { kind: "desktop", source, memMb: 2048 });
    expect(response.status).toBe(409);
    expect(VmRefused.parse(await response.json())).toMatchObject({
      code: "TemplateNotReady",
      hint: "Image office is being built: 0 %, waiting.",
    });
    await expect.poll(() => stateOf("office"), PATIENCE).toMatchObject({ state: "building" });
    expect(stateOf("code")).toMatchObject({ state: "missing", onUse: true });
    await rig.place("meanwhile");
    expect(await rig.sh("meanwhile", "echo here")).toBe("here");
  });
});
