import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { SessionList } from "@svc/contract/browser/session.ts";
import { afterAll, expect, test } from "vitest";
import { PATIENT, testGateway } from "../support/process/gateway.ts";
import { PoolProcess } from "../support/process/pool.ts";
import { startSite } from "../support/fakes/site.ts";

const run = promisify(execFile);
const site = await startSite();
const gateway = await testGateway(PATIENT);
const pool = await PoolProcess.start(gateway, { SVC_EGRESS_ALLOW: site.address });
afterAll(async () => {
  await pool.close();
  await gateway.close();
  site.close();
});

test("the README's snippet runs as it stands", async () => {
  const readme = await readFile("README.md", "utf8");
  const [, snippet = ""] = /```js\n([\s\S]*?)```/.exec(readme) ?? [];
  expect(snippet).toContain("chromium.connect(");
  const code = snippet
    .replaceAll("http://127.0.0.1:8787", gateway.url.origin)
    .replaceAll("https://example.com", site.url);
  // Inside node_modules, so that playwright-core is found as in a reader's own folder.
  await mkdir("node_modules/.cache", { recursive: true });
  const folder = await mkdtemp("node_modules/.cache/readme-");
  await writeFile(join(folder, "example.mjs"), code);
  const key = await gateway.newKey();
  const env = { ...process.env, SVC_API_KEY: key };
  await run(process.execPath, ["example.mjs"], { cwd: folder, env });
  const shot = await readFile(join(folder, "example.png"));
  expect(shot.toString("hex", 0, 4)).toBe("89504e47");
  await rm(folder, { recursive: true });
  const headers = { authorization: `Bearer ${key}` };
  const list = await (await fetch(new URL("/sessions", gateway.url), { headers })).json();
  expect(SessionList.parse(list).sessions).toMatchObject([{ closeReason: "released" }]);
});
