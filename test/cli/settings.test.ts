// The service that `svc` asks, the key it sends, and its words when that cannot be: the program on a real gateway.
import { mkdir, mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestGateway, testGateway } from "../support/process/gateway.ts";
import { Svc } from "./svc.ts";

let gateway: TestGateway;
let key: string;
let url: string;
beforeAll(async () => {
  gateway = await testGateway();
  key = await gateway.newKey();
  url = gateway.url.origin;
});
afterAll(() => gateway?.close());

const configOf = (svc: Svc): string => join(svc.config, "svc", "config.json");

async function kept(svc: Svc, text: string): Promise<void> {
  await mkdir(join(svc.config, "svc"), { recursive: true });
  await writeFile(configOf(svc), text);
}

test("without a key it says how to get one, and ends with 2", async () => {
  const { code, stdout, stderr } = await new Svc().run(["sandbox", "ls"]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toBe(
    "svc: There is no API key for http://127.0.0.1:8787: run `svc login`, or set SVC_API_KEY.\n",
  );
});

test("a key that the service does not take is one line that names the next step", async () => {
  const svc = new Svc({ SVC_BASE_URL: url, SVC_API_KEY: "svc_live_wrong" });
  const { code, stderr } = await svc.run(["sandbox", "ls"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^svc: .*`svc status`.*`svc login`.*\n$/);
});

test.each([["not a url"], ["ftp://svc.example"], ["svc.example:8787"]])(
  "%s is no URL of a service: 2, and how it is written",
  async (text) => {
    const { code, stderr } = await new Svc({ SVC_API_KEY: key }).run([
      "--base-url",
      text,
      "status",
    ]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^svc: .*--base-url.*https:\/\/svc\.example\.com\.\n$/);
  },
);

test("where nothing listens it ends with 3 and says where it looked", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  const svc = new Svc({ SVC_API_KEY: key, SVC_BASE_URL: `http://127.0.0.1:${port}` });
  const { code, stderr } = await svc.run(["browser", "ls"]);
  expect(code).toBe(3);
  expect(stderr).toMatch(new RegExp(`^svc: .*127\\.0\\.0\\.1:${port}.*svc doctor.*\\n$`));
});

test("another program at the URL is said to be one", async () => {
  const server = createServer((_request, response) => void response.writeHead(404).end("<html>"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const svc = new Svc({ SVC_API_KEY: key, SVC_BASE_URL: `http://127.0.0.1:${port}` });
  const { code, stderr } = await svc.run(["sandbox", "ls"]);
  server.close();
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^svc: .*Something else listens.*\n$/)]);
});

test("login keeps a key that the service takes, for this user alone, and logout forgets it", async () => {
  const svc = new Svc();
  const { code, stderr } = await svc.run(["login", "--base-url", url], { input: `${key}\n` });
  expect([code, stderr]).toEqual([0, ""]);
  expect((await stat(configOf(svc))).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(configOf(svc), "utf8"))).toEqual({ baseUrl: url, apiKey: key });
  expect(await svc.json(["status"])).toMatchObject({ baseUrl: url, apiKeyFrom: configOf(svc) });
  await svc.run(["logout"]);
  expect((await svc.run(["sandbox", "ls"])).code).toBe(2);
});

test.each([
  ["what is no key", "hunter2", 2],
  ["a key of another service", `svc_live_${"a".repeat(12)}_${"b".repeat(40)}`, 1],
])("login keeps nothing of %s", async (_what, input, expected) => {
  const svc = new Svc({ SVC_BASE_URL: url });
  const { code, stderr } = await svc.run(["login"], { input });
  expect(code).toBe(expected);
  expect(stderr).not.toContain(input);
  await expect(stat(configOf(svc))).rejects.toThrow(/ENOENT/);
});

test("the environment goes before the file, and the command line before both", async () => {
  const svc = new Svc({ SVC_API_KEY: key });
  await kept(svc, JSON.stringify({ baseUrl: "http://127.0.0.1:1", apiKey: "svc_live_old" }));
  const env = { SVC_BASE_URL: url };
  expect(await svc.json(["status"], { env })).toMatchObject({ baseUrlFrom: "SVC_BASE_URL" });
  const other = { SVC_BASE_URL: "http://127.0.0.1:1", SVC_API_KEY: "svc_live_old" };
  const args = ["status", "--base-url", url, "--api-key", key];
  expect(await svc.json(args, { env: other })).toMatchObject({ apiKeyFrom: "--api-key" });
});

test("the key of the file is shown to no other service than its own", async () => {
  const svc = new Svc();
  await kept(svc, JSON.stringify({ baseUrl: "https://svc.example.com", apiKey: key }));
  const { code, stderr } = await svc.run(["status", "--base-url", url]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`no API key for ${url}`)]);
});

test("the key of a service on this machine is found from its folder and below, and shown to this machine alone", async () => {
  const root = await mkdtemp(join(tmpdir(), "svc-cli-root-"));
  await mkdir(join(root, ".svc"));
  await mkdir(join(root, "deep", "er"), { recursive: true });
  await writeFile(join(root, ".svc", "dev.key"), `${key}\n`);
  const cwd = join(root, "deep", "er");
  const svc = new Svc({ SVC_BASE_URL: url });
  const from = join(root, ".svc", "dev.key");
  expect(await svc.json(["status"], { cwd })).toMatchObject({ apiKeyFrom: from });
  const away = { SVC_BASE_URL: "https://svc.example.com" };
  expect((await svc.run(["status"], { cwd, env: away })).code).toBe(2);
  // The key is not sent to a browser gateway elsewhere, either.
  const browsers = { SVC_BROWSER_URL: "http://127.0.0.1:1" };
  expect(await svc.json(["status"], { cwd, env: browsers })).toMatchObject({ apiKeyFrom: from });
});

test("a broken file is named, with what to do about it", async () => {
  const svc = new Svc();
  await kept(svc, '{"apiKey": 3');
  const { code, stderr } = await svc.run(["status"]);
  expect(code).toBe(2);
  expect(stderr).toBe(
    `svc: ${configOf(svc)} is broken: remove it, then run \`svc login\` again.\n`,
  );
});

test("a command that is not there is 2, with what it may have been", async () => {
  const { code, stderr } = await new Svc().run(["sandbox", "lss"]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/unknown command 'lss' \(Did you mean ls\?\)/);
});
