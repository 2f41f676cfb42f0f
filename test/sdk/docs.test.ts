// Every example of docs/SDK.md runs as it stands, with the sdk as it is built. None of them needs a type.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeSdk } from "../../scripts/bundle-sdk.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { PoolProcess } from "../support/process/pool.ts";
import { MachineRig } from "./machine-rig.ts";

const run = promisify(execFile);
const page = await readFile("docs/SDK.md", "utf8");
const examples = [...page.matchAll(/^## (.+)$|^```ts\n([\s\S]*?)^```$/gm)]
  .reduce<[string, string][]>((all, [, heading, code]) => {
    if (code !== undefined)
      all.push([all.at(-1)?.[1] === "" ? (all.pop()?.[0] ?? "") : "first", code]);
    else if (heading !== undefined) all.push([heading, ""]);
    return all;
  }, [])
  .filter(([, code]) => code !== "");
/** The lines that an example prints, by its heading. */
const PRINTS: Record<string, RegExp> = {
  first: /^Linux$/m,
  Machines: /stdout one[\s\S]*hello[\s\S]*42/,
  Browsers: /hello/,
  Lists: /running[\s\S]*\d/,
  Templates: /"type":"apt","packages":\["jq"\]/,
  "Time, retries, errors": /InvalidSessionId/,
};

const noBrowser = await missingBrowser();

let rig: MachineRig;
let pool: PoolProcess | undefined;
let folder = "";
beforeAll(async () => {
  rig = await MachineRig.start();
  if (!noBrowser) pool = await PoolProcess.start(rig.gateway.gateway, {});
  await writeSdk();
  await mkdir("node_modules/.cache", { recursive: true });
  folder = await mkdtemp("node_modules/.cache/sdk-docs-");
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await pool?.close();
  await rig.close();
});

test("each heading with an example says here what it prints", () => {
  expect(examples.map(([heading]) => heading)).toEqual(Object.keys(PRINTS));
});

test.for(examples)("the example under %s runs", async ([heading, code], context) => {
  if (heading === "Browsers" && noBrowser) context.skip(noBrowser);
  const file = join(folder, `example-${examples.findIndex(([, one]) => one === code)}.mjs`);
  await writeFile(file, code);
  const { gateway, key } = rig.gateway;
  const env = { ...process.env, SVC_API_KEY: key, SVC_BASE_URL: gateway.url.origin };
  const { stdout } = await run(process.execPath, [file], { env });
  expect(stdout).toMatch(PRINTS[heading] ?? /^$/);
});
