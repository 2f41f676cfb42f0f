// The local server as it is packed, in processes of its own, before a real gateway.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MCP_VERSIONS, type McpVersion } from "../../support/mcp-client.ts";
import { type TestGateway, testGateway } from "../../support/process/gateway.ts";
import { builtServer, mcpStdio, oldestNode } from "../../support/process/mcp-stdio.ts";

let gateway: TestGateway;
let path = "";
let env: Record<string, string> = {};

beforeAll(async () => {
  // Not at the same time: the first bundler that is done ends the process of both.
  path = await builtServer();
  gateway = await testGateway();
  env = { SVC_API_KEY: await gateway.newKey(), SVC_BASE_URL: gateway.url.origin };
});
afterAll(async () => {
  if (path) await rm(dirname(path), { recursive: true, force: true });
  await gateway?.close();
});

const NODES = { "Node 18": oldestNode(), "this Node": process.execPath };
const CASES = Object.entries(NODES).flatMap(([name, node]) =>
  MCP_VERSIONS.map((version): [string, McpVersion, string | undefined] => [name, version, node]),
);

describe.each(CASES)("on %s, a client %s", (_name, version, node) => {
  test.skipIf(node === undefined)(
    "lists the tools, calls one, and is told what is wrong",
    async () => {
      await using client = await mcpStdio({ path, env, version, ...(node && { node }) });
      expect(await client.names()).toEqual(
        expect.arrayContaining(["svc_list", "svc_browser_profiles"]),
      );
      const { json, structured } = await client.call("svc_browser_profiles");
      expect(json).toEqual({ profiles: [] });
      expect(structured).toEqual(json);
      const { text: said } = await client.call("svc_list", { limit: 0 });
      expect(said).toMatch(/^ValidationError: limit: /);
    },
  );
});

test("SVC_TOOLSETS lists a part of the tools", async () => {
  await using client = await mcpStdio({ path, env: { ...env, SVC_TOOLSETS: "machine" } });
  expect(await client.names()).not.toContain("svc_browser_profiles");
});

test("a key that the gateway does not know is told as such", async () => {
  const SVC_API_KEY = `svc_live_${"a".repeat(12)}_${"b".repeat(40)}`;
  await using client = await mcpStdio({ path, env: { ...env, SVC_API_KEY } });
  const { text: said, error } = await client.call("svc_list");
  expect(said).toMatch(/^Unauthorized: Unauthorized\. Check the API key/);
  expect(error).toEqual({ error: "Unauthorized", status: 401 });
});

test.each([
  [{ SVC_API_KEY: "" }, /^Set SVC_API_KEY to an API key .*\n$/],
  [{ SVC_TOOLSETS: "fridge" }, /^toolsets: fridge is none; there are browser, machine\n$/],
  [{ SVC_BASE_URL: "nowhere" }, /^nowhere is no URL of the service.*\n$/],
])("with %j it ends with one line that says what is wrong", async (wrong, line) => {
  const server = spawn(process.execPath, [path], { env: { ...env, ...wrong } });
  const said = Promise.all([text(server.stdout), text(server.stderr)]);
  expect(await once(server, "close")).toEqual([1, null]);
  const [stdout, stderr] = await said;
  expect(stdout).toBe("");
  expect(stderr).toMatch(line);
});

test.each(["SIGINT", "SIGTERM", "the end of stdin"] as const)("%s ends it", async (end) => {
  const server = spawn(process.execPath, [path], { env });
  const closed = once(server, "close");
  server.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
  await once(server.stdout, "data");
  if (end === "the end of stdin") server.stdin.end();
  else server.kill(end);
  expect(await closed).toEqual([0, null]);
});
