// Each of the 37 tools through the official clients: of both protocol revisions, hosted and over stdio, on a real browser and real machines.
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { TOOLS } from "@svc/mcp/tools/index.ts";
import { Svc } from "@svc/sdk/svc.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { COUNTER, type Site, startSite } from "../support/fakes/site.ts";
import {
  MCP_VERSIONS,
  type McpClient,
  type McpVersion,
  mcpClient,
  type ToolAnswer,
} from "../support/mcp-client.ts";
import { builtServer, mcpStdio } from "../support/process/mcp-stdio.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { PoolProcess } from "../support/process/pool.ts";
import { RealMachines } from "../support/process/real-machines.ts";
import { missingDesktop } from "../vm-host/rig/needs.ts";

const LONG = 900_000;
// Emulated machines on a busy computer: waits are for what happens, these only end what never does.
const PATIENCE = { timeout: 400_000, interval: 500 };
const isImpossible = ((await missingDesktop()) ?? (await missingBrowser())) !== undefined;

const WAYS = MCP_VERSIONS.flatMap((version) =>
  (["hosted", "local"] as const).map((where) => ({ version, where })),
);

describe.skipIf(isImpossible)("every tool", { timeout: LONG }, () => {
  let machines: RealMachines;
  let pool: PoolProcess;
  let site: Site;
  let svc: Svc;
  let profileId = "";
  let path = "";

  beforeAll(async () => {
    path = await builtServer();
    site = await startSite(() => COUNTER);
    machines = await RealMachines.start({ SVC_PREVIEW_DOMAIN: "preview.localhost" });
    pool = await PoolProcess.start(machines.gateway, { SVC_EGRESS_ALLOW: site.address });
    svc = new Svc({ apiKey: machines.key, baseUrl: machines.gateway.url.origin });
    profileId = (await svc.profiles.create("tools")).id;
  }, LONG);
  afterAll(async () => {
    await pool?.close();
    await machines?.close();
    site?.close();
    if (path) await rm(dirname(path), { recursive: true });
  });

  const connect = (where: "hosted" | "local", version: McpVersion): Promise<McpClient> => {
    const { gateway, key } = machines;
    if (where === "hosted") return mcpClient({ url: gateway.url, key, version });
    const env = { SVC_API_KEY: key, SVC_BASE_URL: gateway.url.origin };
    return mcpStdio({ path, env, version });
  };

  test.each(WAYS)("is called by a client of $version, $where", async ({ where, version }) => {
    await using client = await connect(where, version);
    const called = new Set<string>();
    const call = async (name: string, args: object = {}): Promise<ToolAnswer> => {
      called.add(`svc_${name}`);
      const answer = await client.call(`svc_${name}`, args);
      if (answer.isError) throw new Error(`svc_${name}: ${answer.text}`);
      return answer;
    };
    /** By its session; a refusal is an answer too. */
    const on =
      (sessionId: unknown, kind = "") =>
      (name: string, args: object = {}) =>
        call(kind + name, { sessionId, ...args });
    const create = async (name: string, args: object = {}): Promise<unknown> =>
      vi.waitFor(async () => (await call(name, args)).json["sessionId"], PATIENCE);
    /** All that an answer says. */
    const saidBy = ({ content }: ToolAnswer): string =>
      content.map(({ text = "" }) => text).join("\n");

    const browser = await create("browser_create", { mode: "fast", profileId, recording: true });
    const onPage = on(browser, "browser_");
    expect((await onPage("navigate", { url: site.url })).json).toMatchObject({ title: "Counter" });
    expect(saidBy(await onPage("read_page"))).toContain("Counter");
    expect((await onPage("screenshot")).content[1]).toMatchObject({ type: "image" });
    await onPage("click", { selector: "#more" });
    await onPage("key", { key: "Enter", selector: "#more" });
    const count = { expression: "document.querySelector('#count').textContent" };
    expect(saidBy(await onPage("evaluate", count))).toContain("2");
    await onPage("evaluate", {
      expression: "document.body.append(document.createElement('textarea'))",
    });
    await onPage("type", { selector: "textarea", text: "ünd" });
    expect(
      saidBy(await onPage("evaluate", { expression: "document.querySelector('textarea').value" })),
    ).toContain("ünd");
    expect((await onPage("autologin_status")).json).toEqual({ sites: [] });
    const noLogin = onPage("autologin_site", { site: "example.com" });
    await expect(noLogin).rejects.toThrow("NoSavedLogin");
    const { json } = await onPage("login", { instructions: "Nothing." });
    expect((await onPage("await_login", { timeoutSeconds: 1 })).json["status"]).toBe("pending");
    await expect(onPage("read_page")).rejects.toThrow("HandoffActive");
    await (await svc.browsers.connect(String(browser))).handoffs.cancel(String(json["handoffId"]));
    expect((await onPage("await_login")).json["status"]).toBe("cancelled");
    expect((await onPage("save_profile")).json["profileId"]).toBe(profileId);
    expect((await call("browser_profiles")).json["profiles"]).toHaveLength(1);
    expect((await onPage("close")).json).toEqual({ released: true });
    const replay = await vi.waitFor(() => onPage("replay_url", { waitSeconds: 30 }), PATIENCE);
    expect(replay.json["url"]).toMatch(/^http/);

    const sandbox = await create("sandbox_create");
    const inside = on(sandbox);
    expect((await inside("exec", { command: "echo $((6 * 7))" })).json["stdout"]).toBe("42\n");
    await inside("run_command_bg", { command: "sleep 600", waitSeconds: 0 });
    expect(saidBy(await inside("run_code", { code: "6 * 7" }))).toContain("42");
    await inside("write_file", { path: "/tmp/a/b.txt", content: "hello" });
    expect(saidBy(await inside("read_file", { path: "/tmp/a/b.txt" }))).toMatch(/\nhello$/);
    expect(saidBy(await inside("list_files", { path: "/tmp/a" }))).toContain("b.txt");
    expect((await inside("get_preview_url", { port: 8000 })).json["url"]).toContain(
      "-8000.preview.localhost",
    );
    expect((await inside("connect")).json).toMatchObject({ state: "running", resumed: false });
    expect(JSON.stringify((await call("list")).json)).toContain(String(sandbox));

    const desktop = await create("desktop_create");
    const screen = on(desktop);
    expect((await screen("screenshot")).content[1]).toMatchObject({ type: "image" });
    await screen("click", { x: 100, y: 100 });
    await screen("mouse_move", { x: 200, y: 200 });
    await screen("mouse_down");
    await screen("mouse_up");
    await screen("drag", { fromX: 10, fromY: 10, toX: 20, toY: 20, durationMs: 0 });
    await screen("open_app", { app: "terminal" });
    await screen("type", { text: "a" });
    await screen("key", { key: "BackSpace" });
    for (const machine of [sandbox, desktop])
      expect((await call("kill", { sessionId: machine })).json).toEqual({ ok: true });
    expect([...called].toSorted()).toEqual(TOOLS.map(({ name }) => name).toSorted());
  });
});
