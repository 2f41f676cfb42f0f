// Guards docs/guides/tools-for-an-agent.md: what it tells people to paste is what `svc mcp config` writes.
import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { type Client, CLIENTS, type Facts, SERVER } from "../../cli/mcp/clients.ts";
import { blocksOf } from "./blocks.ts";

const PAGE = "docs/guides/tools-for-an-agent.md";

const factsOf = ({ variable }: Client): Facts => ({
  url: "http://127.0.0.1:8787/mcp",
  baseUrl: "http://127.0.0.1:8787",
  key: variable ?? "YOUR_SVC_API_KEY",
  program: ["svc", "mcp"],
});

const pasted = blocksOf(PAGE)
  .filter(({ language }) => language === "json" || language === "toml")
  .map(({ language, code }) => (language === "json" ? JSON.parse(code) : parse(code)));

test.each(CLIENTS.map((client) => [client.title, client] as const))(
  "what %s is told over HTTP stands on the page",
  (_title, client) => {
    if (typeof client.hosted !== "function") return;
    const entry = client.hosted(factsOf(client));
    const settings = { ...client.beside, [client.under]: { [SERVER]: entry } };
    expect(pasted).toContainEqual(settings);
  },
);

test("the commands of clients stand on the page", () => {
  const codes = blocksOf(PAGE).map(({ code }) => code.trim());
  const commands = CLIENTS.flatMap((client) => client.command?.hosted?.(factsOf(client)) ?? []);
  expect(commands.length).toBeGreaterThan(0);
  for (const command of commands) expect(codes).toContain(command);
});
