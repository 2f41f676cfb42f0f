// The hosted server, asked by real clients of both revisions: through a real gateway, over HTTP.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MCP_VERSIONS, mcpClient } from "../../support/mcp-client.ts";
import { type TestGateway, testGateway } from "../../support/process/gateway.ts";

let gateway: TestGateway;
let key: string;

beforeAll(async () => {
  gateway = await testGateway();
  key = await gateway.newKey();
});
afterAll(() => gateway?.close());

describe.each(MCP_VERSIONS)("a client %s", (version) => {
  const connected = () => mcpClient({ url: gateway.url, key, version });

  test("lists the tools", async () => {
    await using client = await connected();
    expect(await client.names()).toContain("svc_list");
  });

  test("calls a tool, whose JSON is the first block and the structured content", async () => {
    await using client = await connected();
    const { json, structured, isError } = await client.call("svc_list");
    expect(isError).toBe(false);
    expect(json).toEqual({ sandboxes: [] });
    expect(structured).toEqual(json);
  });

  test("is told which argument is wrong, and what is expected", async () => {
    await using client = await connected();
    const { isError, text, error } = await client.call("svc_list", { limit: "many", color: 1 });
    expect(isError).toBe(true);
    expect(text).toMatch(/^ValidationError: limit: expected number, received string; color: /);
    expect(text).toContain("takes kind, state, limit, cursor");
    expect(error).toMatchObject({ code: "ValidationError", status: 400 });
  });

  test("is told that there is no such tool", async () => {
    await using client = await connected();
    await expect(client.call("svc_dance")).rejects.toThrow("There is no tool svc_dance");
  });
});
