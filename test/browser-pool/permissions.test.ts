import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished, expect, test } from "vitest";
import { permissionFlags } from "../../browser-pool/permissions.ts";

const run = promisify(execFile);

test("a pool under its flags cannot write to a state folder, wherever that is", async () => {
  const script = `for (const file of process.argv.slice(1)) require("fs").writeFileSync(file, "");`;
  for (const prefix of ["svc-", "svc-state-", "state-"]) {
    const stateDir = await mkdtemp(join(tmpdir(), prefix));
    onTestFinished(() => rm(stateDir, { recursive: true }));
    const secrets = join(stateDir, "admin.token");
    await writeFile(secrets, "secret");
    const written = run(process.execPath, [...permissionFlags(stateDir), "-e", script, secrets]);
    await expect(written).rejects.toThrow("ERR_ACCESS_DENIED");
    expect(await readFile(secrets, "utf8")).toBe("secret");
  }
});
