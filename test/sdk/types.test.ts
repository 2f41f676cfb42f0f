// The declarations that come with the built sdk serve a project that has no other package, and are as strict as the contract.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { writeSdk } from "../../scripts/bundle-sdk.ts";

const run = promisify(execFile);

const CUSTOMER = `
import { type BrowserOptions, Svc } from "./sdk/index.js";
import { Cdp } from "./sdk/cdp.js";
const svc = new Svc({ apiKey: "k" });
const { created, commands, files } = await svc.sandboxes.create({ cpu: 1, envs: { A: "b" } });
export const cpu: number | undefined = created?.cpu;
// @ts-expect-error a number is no text: types are not any
export const text: string | undefined = created?.cpu;
// @ts-expect-error a toggle is a boolean
export const wanted: BrowserOptions = { stealth: "yes" };
// @ts-expect-error the tier of old is not offered
export const proxied: BrowserOptions = { proxy: { tier: "isp" } };
const { stdout } = await commands.run("a");
// @ts-expect-error output is text
export const output: number = stdout;
// @ts-expect-error a path is missing
await files.stat();
for await (const { sandboxId } of svc.sandboxes.list()) export_(sandboxId, Cdp);
function export_(id: string, cdp: typeof Cdp): void { console.log(id, cdp); }
`;
const CONFIG = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: "ES2022",
    module: "ESNext",
    moduleResolution: "bundler",
    lib: ["ES2023", "ESNext.Disposable", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
    types: [],
    skipLibCheck: false,
  },
  files: ["customer.ts"],
};

test("a customer's project without any package is checked against them", async () => {
  // Outside the project: nothing of its packages can be found from there.
  const folder = await mkdtemp(join(tmpdir(), "svc-sdk-types-"));
  await writeSdk(join(folder, "sdk"));
  await writeFile(join(folder, "customer.ts"), CUSTOMER);
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(CONFIG));
  const tsc = resolve("node_modules/typescript/bin/tsc");
  const { stdout } = await run(process.execPath, [tsc, "-p", folder]).catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout).toBe("");
  await rm(folder, { recursive: true });
});
