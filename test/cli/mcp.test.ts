// `svc mcp`: the local tool server, by the settings of the command.
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleCli } from "../../scripts/bundle-cli.ts";
import { clientOf, newV2 } from "../support/mcp-client.ts";
import { type TestGateway, testGateway } from "../support/process/gateway.ts";
import { Svc } from "./svc.ts";

let gateway: TestGateway;
let svc: Svc;
let bundle: string;
beforeAll(async () => {
  gateway = await testGateway();
  svc = new Svc();
  const input = await gateway.newKey();
  await svc.run(["login", "--base-url", gateway.url.origin], { input });
  bundle = join(await mkdtemp(join(tmpdir(), "svc-bundle-")), "svc.mjs");
  await writeFile(bundle, await bundleCli());
});
afterAll(() => gateway?.close());

test.each(["sources", "bundle"])(
  "from its %s it serves the tools to a client, by the key of svc login",
  async (kind) => {
    const env = Object.entries(svc.env()).filter(([, value]) => value !== undefined);
    const client = newV2();
    const main = kind === "bundle" ? bundle : resolve("cli/main.ts");
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [main, "mcp"],
        env: Object.fromEntries(env) as Record<string, string>,
        stderr: "inherit",
      }),
    );
    const tools = clientOf(client, "v2");
    expect(await tools.names()).toEqual(
      expect.arrayContaining(["svc_list", "svc_browser_profiles"]),
    );
    expect((await tools.call("svc_browser_profiles")).json).toEqual({ profiles: [] });
    await client.close();
  },
);

test("without a key it says so on stderr, and nothing on stdout", async () => {
  const { code, stdout, stderr } = await new Svc().run(["mcp"]);
  expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining("svc login")]);
});
