import type { BuildStep } from "@svc/contract/vm/template-steps.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openControlClient } from "../../support/process/control-client.ts";
import { built, lines } from "../rig/builds.ts";
import { missingMachine } from "../rig/needs.ts";
import { PackageServers } from "../rig/package-servers.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 800_000;
const isRoot = process.getuid?.() === 0;
const hindrance = (await missingMachine()) ?? (isRoot ? undefined : "a network needs root");

// Servers of this machine stand for the outside.
describe.skipIf(hindrance)("packages in a template", { timeout: MACHINE_MS }, () => {
  let servers: PackageServers;
  let rig: Rig;

  beforeAll(async () => {
    servers = await PackageServers.start();
    rig = await Rig.start({ env: { SVC_EGRESS_ALLOW: `127.0.0.1:${servers.port}` } });
    await rig.able();
  }, MACHINE_MS);
  afterAll(async () => {
    await rig?.stop();
    await servers?.close();
  });

  /** Leaves the local servers as the only ones. */
  const only = (): BuildStep[] => {
    const entry = `deb [trusted=yes allow-insecure=yes] ${servers.url}/apt ./`;
    const line = `rm -rf /etc/apt/sources.list.d/*; echo '${entry}' > /etc/apt/sources.list`;
    const envs = { PIP_INDEX_URL: `${servers.url}/simple`, PIP_TRUSTED_HOST: "10.0.2.2" };
    return [
      { type: "run", cmd: line },
      { type: "env", envs },
    ];
  };

  test("apt, pip, npm and git bring what they are asked for, as the user that is set", async () => {
    const { report, log } = await built(rig, "tpl_packages00000001", [
      ...only(),
      { type: "apt", packages: ["npm=1.0"] },
      { type: "pip", packages: ["svcdemo>=1.0"] },
      { type: "user", name: "worker" },
      { type: "workdir", path: "/srv/app" },
      { type: "npm", packages: ["left-pad@1", "@a/b"] },
      { type: "npm", packages: ["typescript"], global: true },
      { type: "git", url: `${servers.url}/repo.git`, path: "/srv/app/new" },
      { type: "git", url: `${servers.url}/repo.git`, ref: "v1", path: "/srv/app/old" },
      {
        type: "run",
        cmd: "cat new/file old/file; python3 -c 'import svcdemo; print(svcdemo.WORD)'",
      },
      {
        type: "run",
        cmd: "stat -c %U new; find /var/lib/apt/lists /var/cache/apt -name '*ackages*' -o -name '*.deb'",
        user: "root",
      },
    ]);
    expect(report.error).toBeUndefined();
    const said = lines(log, "stdout");
    const flags = "--no-fund --no-audit";
    expect(said).toContain(`7 npm install ${flags} -- left-pad@1 @a/b by worker in /srv/app`);
    expect(said).toContain(`8 npm install ${flags} --global -- typescript by worker in /srv/app`);
    expect(said.filter((line) => line.startsWith("11 "))).toEqual([
      "11 second",
      "11 first",
      "11 from the index",
    ]);
    // Nothing of what was fetched is left.
    expect(said.filter((line) => line.startsWith("12 "))).toEqual(["12 worker"]);
  });

  test("machines of a template with packages have Python warm, with what was installed", async () => {
    const { report } = await built(
      rig,
      "tpl_packages00000003",
      [...only(), { type: "pip", packages: ["svcdemo>=1.0"] }],
      { memMb: 1_024 },
    );
    expect(report.error).toBeUndefined();
    await rig.gateway.beat((beat) => beat.templates?.includes("tpl_packages00000003") ?? false);
    await rig.place("warm", {
      memMb: 1_024,
      source: { type: "snapshot", id: "tpl_packages00000003", recordPath: "" },
    });
    const { url, headers } = await rig.socket("warm");
    const { client, socket } = await openControlClient(url, headers);
    const { stdout } = await client.ask("code.run", {
      code: "import sys; print('pandas' in sys.modules); import svcdemo; print(svcdemo.WORD)",
    });
    socket.terminate();
    expect(stdout).toBe("True\nfrom the index\n");
  });

  test("a package that is not there fails the build, and the log says so", async () => {
    const { report, log } = await built(rig, "tpl_packages00000002", [
      ...only(),
      { type: "apt", packages: ["nothing-like-it"] },
    ]);
    expect(report).toMatchObject({ state: "failed", step: 2, error: { step: 3 } });
    expect(lines(log, "stderr").join()).toContain("Unable to locate package nothing-like-it");
  });
});
