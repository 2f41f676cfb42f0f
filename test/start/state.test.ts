import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CLIENTS } from "../../cli/mcp/clients.ts";
import { START_MS, Service, stateDir } from "./service.ts";

const LONG = 3 * START_MS;

describe.skipIf(process.platform !== "linux")("the state folder", { timeout: LONG }, () => {
  test("a second start on it refuses in one line and leaves the first alone", async () => {
    await using first = await Service.ready();
    const second = new Service({}, first.folder);
    await second.exit;
    expect(second.npm.exitCode).toBe(1);
    expect(second.lines.filter((line) => line.includes("svc runs on"))).toHaveLength(1);
    expect(second.lines.join("\n")).not.toContain("    at ");
    expect(await first.health()).toBe(200);
  });

  test("after a killed start the next one takes it over, with the same key, and does not show it again", async () => {
    await using first = await Service.ready();
    const family = first.family();
    const key = first.read("dev.key");
    process.kill(first.process("supervisor").pid, "SIGKILL");
    await first.expectNothingLeft(family);

    await using second = await Service.ready({}, first.folder);
    expect(second.read("dev.key")).toBe(key);
    const said = second.lines.join("\n");
    expect(said).toContain(`  key       in ${second.folder}/dev.key\n`);
    expect(said).not.toContain(key);
    const sessions = await fetch(new URL("/sessions", second.url), {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(sessions.status).toBe(200);
  });

  test("a database that was removed has its tables again after the next start, and a new key that is shown", async () => {
    await using first = await Service.ready();
    const family = first.family();
    const key = first.read("dev.key");
    process.kill(first.process("supervisor").pid, "SIGKILL");
    await first.expectNothingLeft(family);
    rmSync(join(first.folder, "state/v3/d1"), { recursive: true });

    await using second = await Service.ready({}, first.folder);
    const newKey = second.read("dev.key");
    expect(second.mode("dev.key")).toBe("600");
    expect(newKey).not.toBe(key);
    expect(second.lines.join("\n")).toContain(`  key       ${newKey} `);
    const statusOf = async (shown: string): Promise<number> => {
      const headers = { authorization: `Bearer ${shown}` };
      return (await fetch(new URL("/profiles", second.url), { headers })).status;
    };
    // The old key went with the database, and the table of keys is there to say so.
    expect([await statusOf(key), await statusOf(newKey)]).toEqual([401, 200]);
  });
});

test.each(["SVC_HOST_TOKEN", "SVC_SIGNING_SECRET", "SVC_ADMIN_TOKEN"])(
  "a short %s is refused in one line, with the command that makes a long one",
  { timeout: LONG },
  async (name) => {
    const short = "s".repeat(42);
    await using service = new Service({ [name]: short });
    await service.exit;
    expect(service.npm.exitCode).toBe(1);
    const said = service.lines.filter((line) => line.startsWith(`${name}: must have at least 43 `));
    expect(said).toEqual([expect.stringContaining(`node -p "crypto.randomBytes(32)`)]);
    expect(service.lines.join("\n")).not.toContain(short);
  },
);

test("a short secret in the state folder is refused in one line that names its file", async () => {
  const folder = stateDir();
  writeFileSync(join(folder, "signing.secret"), "short\n");
  await using service = new Service({}, folder);
  await service.exit;
  expect(service.npm.exitCode).toBe(1);
  const named = `${folder}/signing.secret must have at least 43 characters`;
  expect(service.lines.filter((line) => line.startsWith(named))).toHaveLength(1);
});

test("a taken port is said in one line", { timeout: LONG }, async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const address = other.address();
  const port = typeof address === "object" ? String(address?.port) : "";
  await using service = new Service({ SVC_PORT: port });
  await service.exit;
  other.close();
  expect(service.npm.exitCode).toBe(1);
  expect(service.lines.filter((line) => line.includes(`port ${port} is taken`))).toHaveLength(1);
});

test.skipIf(process.platform !== "linux")(
  "the first banner tells the key once and in no snippet, and what may be reached although it is private",
  { timeout: LONG },
  async () => {
    await using service = await Service.ready({ SVC_EGRESS_ALLOW: "127.0.0.1:9" });
    const said = service.lines.join("\n");
    const key = service.read("dev.key");
    const file = `${service.folder}/dev.key`;
    expect(said).toContain(
      `  base URL  ${service.url}\n  key       ${key} (shown this once, kept in ${file})\n`,
    );
    expect(said.split(key)).toHaveLength(2);
    expect(said).toContain(`  export SVC_API_KEY=$(cat ${file})\n`);
    expect(said).toContain(`  tools     ${service.url}/mcp, `);
    // The clients' own words for it: docs/guides/tools-for-an-agent.md.
    const [claude] = CLIENTS.flatMap(({ command }) => {
      const url = `${service.url}/mcp`;
      return command?.hosted?.({ url, baseUrl: service.url, key: "", program: ["svc"] }) ?? [];
    });
    expect(claude).toMatch(/^claude mcp add /);
    expect(said).toContain(`\n  ${claude}\n`);
    const tools = await fetch(`${service.url}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    expect(await tools.text()).toContain("svc_browser_create");
    expect(said).toMatch(/^ {2}on +private egress +127\.0\.0\.1:9$/m);
  },
);
