// Every program on a page for readers runs as it stands, on the real service: gateway, browsers, machines. What it says that
// it prints is what it prints. docs/SDK.md has a test of its own: test/sdk/docs.test.ts.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeSdk } from "../../scripts/bundle-sdk.ts";
import { PATIENT } from "../support/process/gateway.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { PoolProcess } from "../support/process/pool.ts";
import { RealMachines } from "../support/process/real-machines.ts";
import { missingDesktop, missingMachine } from "../vm-host/rig/needs.ts";
import { blocksOf, isProgram, PAGES, type Program, programsOf, promiseOf } from "./blocks.ts";
import { isRun } from "./not-run.ts";
import { type PracticeSite, startPracticeSite } from "./practice-site.ts";
import { runProgram } from "./run-program.ts";

// Emulated machines on a busy computer.
const LONG = 900_000;
const OWN_TESTS = ["docs/SDK.md"];

const programs = PAGES.filter((page) => !OWN_TESTS.includes(page)).flatMap((page) =>
  programsOf(blocksOf(page).filter((block) => isProgram(block) && isRun(block))),
);

let machines: RealMachines;
let pool: PoolProcess;
let site: PracticeSite;
let folder = "";

/** Names in a program that do not hold here: the port of a gateway, sites of the web, more machines than a test wants to wait for. */
const standIns = (): [string, string][] => [
  ["http://127.0.0.1:8787", machines.gateway.url.origin],
  ["https://quotes.toscrape.com", site.origin],
  ["https://example.com", `${site.origin}/example`],
  ["{ length: 10 }", "{ length: 3 }"],
  ["$(seq 10)", "$(seq 3)"],
  ["range(1, 11)", "range(1, 4)"],
];

const adapted = (program: Program): Program => ({
  ...program,
  code: standIns().reduce((code, [from, to]) => code.replaceAll(from, to), program.code),
});

const missing = (await missingMachine()) ?? (await missingBrowser());
const noDesktop = await missingDesktop();

describe.skipIf(missing)("the programs of the pages", { timeout: LONG }, () => {
  beforeAll(async () => {
    site = await startPracticeSite();
    const vars = { ...PATIENT, SVC_PREVIEW_DOMAIN: "preview.localhost" };
    machines = await RealMachines.start(vars, "vm-docs");
    pool = await PoolProcess.start(machines.gateway, {
      SVC_EGRESS_ALLOW: site.address,
      SVC_WARM_FAST: "1",
    });
    await writeSdk();
    // Inside node_modules, so that packages are found as in a reader's own folder.
    await mkdir("node_modules/.cache", { recursive: true });
    folder = await mkdtemp("node_modules/.cache/docs-");
    await mkdir(join(folder, ".svc"));
    await writeFile(join(folder, ".svc", "dev.key"), machines.key);
  }, LONG);
  afterAll(async () => {
    await pool?.close();
    await machines?.close();
    site?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test.for(
    programs.map((program, at) => ({
      name: `${program.page}, ${program.language} ${at}`,
      program,
    })),
  )("$name runs as it stands", async ({ program }, context) => {
    if (noDesktop && program.page.includes("desktop")) context.skip(noDesktop);
    const env = {
      ...process.env,
      SVC_API_KEY: machines.key,
      SVC_BASE_URL: machines.gateway.url.origin,
    };
    const printed = await runProgram(adapted(program), { folder, env, signal: context.signal });
    expect(printed).toMatch(promiseOf(program));
  });

  test("leave no session and no machine", async () => {
    const left = async () => ({
      // A session without a lease ends a while after its client has gone.
      sessions: await (await machines.call("/sessions?status=active")).json(),
      sandboxes: await (await machines.call("/sandboxes?state=running")).json(),
    });
    await expect
      .poll(left)
      .toMatchObject({ sessions: { sessions: [] }, sandboxes: { sandboxes: [] } });
  });
});
