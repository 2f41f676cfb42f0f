import { execFile } from "node:child_process";
import { chmod, chown, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { byWire, firstPage } from "./clients.ts";
import { describeKinds } from "./kinds.ts";
import { Rig } from "./rig.ts";
import { Site } from "./site.ts";

const NOBODY = 65_534;
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Whether another user may read this project at all. */
async function isReadableFor(uid: number): Promise<boolean> {
  const run = promisify(execFile);
  const files = [process.execPath, join(ROOT, "browser-pool/main.ts")];
  const tries = files.map((file) => run("/usr/bin/test", ["-r", file], { uid, gid: uid }));
  return Promise.all(tries).then(
    () => true,
    () => false,
  );
}

const isPossible = process.getuid?.() === 0 && (await isReadableFor(NOBODY));

describeKinds("a pool that is not root", (kind) => {
  test.skipIf(!isPossible)(
    "serves browsers in the same namespaces, with one user for all, and says so",
    async () => {
      const site = await new Site().start();
      const stateDir = await mkdtemp(join(tmpdir(), "rootless-"));
      await chown(stateDir, NOBODY, NOBODY);
      await chmod(stateDir, 0o700);
      const env = { SVC_EGRESS_ALLOW: `127.0.0.1:${site.port}`, HOME: stateDir };
      const rig = await Rig.start({ kind, env, stateDir, uid: NOBODY });
      const beat = await rig.gateway.beat(({ kinds }) => (kinds[kind]?.idle ?? 0) > 0);
      expect(beat).toMatchObject({ isolation: "shared-uid", memoryCap: false });
      await rig.place("s");
      const page = firstPage(await byWire(rig, "s"));
      expect((await page.goto(site.url))?.status()).toBe(200);
      await expect(page.goto("file:///etc/passwd")).rejects.toThrow("ERR_FILE_NOT_FOUND");
      await rig.stop();
      site.stop();
    },
  );
});
