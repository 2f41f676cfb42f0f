// `svc mcp config`: its output, and its changes to the files of clients.
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { expect, test } from "vitest";
import { CLIENTS } from "../../cli/mcp/clients.ts";
import { Svc } from "./svc.ts";

const KEY = `svc_live_${"k".repeat(12)}_${"s".repeat(40)}`;
const URL = "https://svc.example.com";

/** A home and a project of its own. */
function fresh(): { svc: Svc; file: (id: string) => string } {
  const svc = new Svc({ SVC_API_KEY: KEY, SVC_BASE_URL: URL });
  const home = join(svc.config, "home");
  const files: Record<string, string> = {
    "claude-code": join(svc.config, ".mcp.json"),
    "claude-desktop": join(svc.config, "Claude/claude_desktop_config.json"),
    cursor: join(svc.config, ".cursor/mcp.json"),
    vscode: join(svc.config, ".vscode/mcp.json"),
    codex: join(home, ".codex/config.toml"),
    gemini: join(home, ".gemini/settings.json"),
  };
  return { svc: withHome(svc, home), file: (id) => files[id] ?? "" };
}

const withHome = (svc: Svc, HOME: string): Svc =>
  Object.assign(svc, { env: (more = {}) => ({ ...Svc.prototype.env.call(svc, more), HOME }) });

async function put(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

const ways = CLIENTS.flatMap(({ id, hosted }) =>
  "not" in hosted ? [[id, ["--local"]] as const] : [[id, []] as const, [id, ["--local"]] as const],
);

test.each(ways)(
  "%s %j: twice is once, and a file that may be committed has no key",
  async (id, more) => {
    const { svc, file } = fresh();
    const args = ["mcp", "config", id, ...more, "--write"];
    expect(await svc.json(args)).toMatchObject({ file: file(id), isChanged: true });
    const text = await readFile(file(id), "utf8");
    expect(await svc.json(args)).toMatchObject({ isChanged: false });
    expect(await readFile(file(id), "utf8")).toBe(text);
    const client = CLIENTS.find((one) => one.id === id);
    const settings: unknown = client?.format === "toml" ? parseToml(text) : JSON.parse(text);
    expect(settings).toHaveProperty([client?.under ?? "", "svc"]);
    // A file that others see has no key; one that may have it is read by this user alone.
    const isOpen = ((await stat(file(id))).mode & 0o077) !== 0;
    expect([isOpen, isOpen && text.includes(KEY)]).toEqual([client?.isShared, false]);
    expect(text.includes(`${URL}/mcp`)).toBe(more.length === 0);
  },
);

test("what is printed has no key", async () => {
  for (const [id, more] of ways) {
    const { stdout } = await fresh().svc.run(["mcp", "config", id, ...more]);
    expect(stdout).not.toContain(KEY);
    expect(stdout).toContain("svc");
  }
});

test("comments and other servers of a JSON file stay, and the file before is kept beside it", async () => {
  const { svc, file } = fresh();
  const before = `{
  // of the team
  "servers": {
    "other": { "type": "http", "url": "https://other.example" } // keep
  },
  "inputs": [{ "id": "other", "type": "promptString" }],
}
`;
  await put(file("vscode"), before);
  await svc.json(["mcp", "config", "vscode", "--write"]);
  const after = await readFile(file("vscode"), "utf8");
  expect(after).toContain("// of the team");
  expect(after).toContain("// keep");
  expect(after).toMatch(/"other"[^}]*https:\/\/other\.example/);
  expect(after.match(/"id": "\w+"/g)).toEqual(['"id": "other"', '"id": "svc"']);
  expect(await readFile(`${file("vscode")}.before-svc`, "utf8")).toBe(before);
});

test("comments and other tables of a TOML file stay; the server's own table is replaced", async () => {
  const { svc, file } = fresh();
  const before = `# mine
model = "some"

[mcp_servers.svc]
command = "old" # old
[mcp_servers.svc.env]
A = "b"

[mcp_servers.other] # other
args = ["[not a table]"]
`;
  await put(file("codex"), before);
  await svc.json(["mcp", "config", "codex", "--write"]);
  const after = await readFile(file("codex"), "utf8");
  for (const kept of ["# mine", "[mcp_servers.other] # other"]) expect(after).toContain(kept);
  expect(parseToml(after)).toEqual({
    model: "some",
    mcp_servers: {
      other: { args: ["[not a table]"] },
      svc: { url: `${URL}/mcp`, bearer_token_env_var: "SVC_API_KEY", tool_timeout_sec: 300 },
    },
  });
});

test.each([
  ["cursor", '{"mcpServers": {'],
  ["cursor", '{"mcpServers": []}'],
  ["cursor", "[]"],
  ["codex", "[mcp_servers\n"],
  ["codex", 'mcp_servers = { svc = { url = "old" }, other = { url = "b" } }\n'],
  ["codex", 'text = """\n[mcp_servers.svc]\n"""\n[mcp_servers.svc]\nurl = "old"\n'],
])("%s: %s is left alone, with what to do by hand", async (id, text) => {
  const { svc, file } = fresh();
  await put(file(id), text);
  const { code, stderr } = await svc.run(["mcp", "config", id, "--write"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining(`svc mcp config ${id}`)]);
  expect(await readFile(file(id), "utf8")).toBe(text);
});

test("a client that is not known, or cannot do it, is 2 with what can be done", async () => {
  const { svc } = fresh();
  const unknown = await svc.run(["mcp", "config", "emacs"]);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("claude-code")]);
  const hosted = await svc.run(["mcp", "config", "claude-desktop"]);
  expect([hosted.code, hosted.stderr]).toEqual([2, expect.stringContaining("--local")]);
});

test("without a key nothing is written into a file that would need it", async () => {
  const { svc, file } = fresh();
  const env = { SVC_API_KEY: "" };
  const { code } = await svc.run(["mcp", "config", "gemini", "--write"], { env });
  expect(code).toBe(2);
  await expect(stat(file("gemini"))).rejects.toThrow(/ENOENT/);
});
