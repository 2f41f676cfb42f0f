// Tools of sandboxes and desktops with real machines, called over MCP of the real gateway: one machine of each kind for all cases.
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type McpClient, mcpClient } from "../../support/mcp-client.ts";
import { RealMachines } from "../../support/process/real-machines.ts";
import { missingDesktop } from "../../vm-host/rig/needs.ts";
import { type Call, hostedCallerOf, pictureOf, textOf } from "./tool-calls.ts";

const LONG = 900_000;
// Emulated machines on a busy computer: waits are for what happens, these only end what never does.
const PATIENCE = { timeout: 400_000, interval: 500 };

const CHART = `import matplotlib.pyplot as plt
plt.plot([1, 2, 3], [4, 9, 16])
plt.title("squares")
plt.show()
40 + 2`;

describe.skipIf(await missingDesktop())("with real machines", { timeout: LONG }, () => {
  let machines: RealMachines;
  let client: McpClient;
  let call: Call;
  let sandbox = "";
  let desktop = "";

  beforeAll(async () => {
    machines = await RealMachines.start();
    client = await mcpClient({ url: machines.gateway.url, key: machines.key });
    call = hostedCallerOf(client);
    // Hosts cannot yet.
    const made = (name: string): Promise<string> =>
      vi.waitFor(async () => (await call(name)).json.sessionId, PATIENCE);
    sandbox = await made("svc_sandbox_create");
    desktop = await made("svc_desktop_create");
    // Nothing is drawn in the first moment of a machine that boots.
    await sh("until wmctrl -m && xdotool search --onlyvisible --class tint2; do sleep 0.2; done");
  }, LONG);
  afterAll(async () => {
    await client?.close();
    await machines?.close();
  });

  const inSandbox = (name: string, given: object = {}) =>
    call(name, { sessionId: sandbox, ...given });
  const onDesktop = (name: string, given: object = {}) =>
    call(name, { sessionId: desktop, ...given });

  /** The output of a command line on the desktop. */
  async function sh(command: string): Promise<string> {
    const { json } = await onDesktop("svc_exec", { command, timeoutSeconds: 300 });
    return json.stdout.trim();
  }

  /** A window that tells of the mouse, in the middle of the screen. */
  async function mouseWindow(): Promise<void> {
    await sh("pkill xev; while pgrep -x xev; do sleep 0.1; done");
    const command = "exec xev -geometry 400x300+300+200 -event mouse > /tmp/xev 2>&1";
    await onDesktop("svc_run_command_bg", { command, waitSeconds: 0 });
    await sh("until xdotool search --onlyvisible --name 'Event Tester'; do sleep 0.2; done");
  }

  const heard = async (what: string): Promise<number> =>
    Number(await sh(`grep -c '^${what}' /tmp/xev`));

  describe("a sandbox", () => {
    test("runs commands, also longer than an answer, and in the background", async () => {
      const { json } = await inSandbox("svc_exec", { command: "uname -s; id -un; seq 1 20000" });
      expect(json).toMatchObject({ exitCode: 0, truncated: true, timedOut: false });
      expect(json.stdout).toMatch(/^Linux\nroot\n1\n[^]*left out[^]*\n20000\n$/);
      const server = await inSandbox("svc_run_command_bg", {
        command: "python3 -m http.server 8000",
        waitForPort: 8000,
        waitSeconds: 60,
      });
      expect(server.json).toMatchObject({ running: true, listening: true });
      const asked = await inSandbox("svc_exec", {
        command: `curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8000; kill ${server.json.pid}`,
      });
      expect(asked.json.stdout).toBe("200");
      const { exitPath } = server.json;
      await vi.waitFor(async () => {
        const told = await inSandbox("svc_read_file", { path: exitPath });
        expect(textOf(told)).toBe("143\n");
      }, PATIENCE);
    });

    test("is killed with its tree at its time", async () => {
      const { json } = await inSandbox("svc_exec", {
        command: "echo begun; sleep 8641 & sleep 8642",
        timeoutSeconds: 10,
      });
      expect(json).toMatchObject({ exitCode: 124, timedOut: true, stdout: "begun\n" });
      const left = await inSandbox("svc_exec", { command: "pgrep -x sleep" });
      expect(left.json).toMatchObject({ exitCode: 1, stdout: "" });
    });

    test("runs Python, with charts as pictures and as numbers", async () => {
      const { json, blocks } = await inSandbox("svc_run_code", { code: CHART });
      expect(json.error).toBeUndefined();
      expect(json.charts).toMatchObject([{ type: "line", title: "squares" }]);
      expect(json.results).toContainEqual({ text: "42" });
      expect(json.results).toContainEqual(expect.objectContaining({ picture: 1 }));
      const { bytes, mimeType } = pictureOf({ json, blocks });
      expect(mimeType).toBe("image/png");
      expect((await sharp(bytes).metadata()).width).toBeGreaterThan(100);
      const failed = await inSandbox("svc_run_code", { code: "1 / 0" });
      expect(failed.json.error.name).toBe("ZeroDivisionError");
      expect(failed.json.error.traceback).not.toContain("\u001b");
    });

    test("keeps files, relative ones in its home folder", async () => {
      const told = await inSandbox("svc_write_file", { path: "notes/a.txt", content: "größe" });
      expect(told.json).toEqual({ path: "/root/notes/a.txt", bytes: 7 });
      expect(textOf(await inSandbox("svc_read_file", { path: told.json.path }))).toBe("größe");
      const { json } = await inSandbox("svc_list_files", { path: "notes" });
      expect(json.entries).toMatchObject([{ path: "/root/notes/a.txt", type: "file", size: 7 }]);
    });

    test("has no screen: tools of desktops say what to do", async () => {
      for (const [name, given] of [
        ["svc_screenshot", {}],
        ["svc_click", { x: 1, y: 1 }],
        ["svc_type", { text: "a" }],
        ["svc_key", { key: "a" }],
        ["svc_open_app", { app: "terminal" }],
        ["svc_mouse_move", { x: 1, y: 1 }],
        ["svc_mouse_down", {}],
        ["svc_mouse_up", {}],
        ["svc_drag", { fromX: 1, fromY: 1, toX: 2, toY: 2 }],
      ] as const)
        await expect(inSandbox(name, given)).rejects.toMatchObject({
          code: "DesktopOnly",
          message: expect.stringContaining("svc_desktop_create"),
        });
    });

    test("has no preview where the deployment has no domain of them", async () => {
      const answer = inSandbox("svc_get_preview_url", { port: 8000 });
      await expect(answer).rejects.toMatchObject({ status: 501, code: "NotConfigured" });
    });
  });

  describe("a desktop", () => {
    test("is seen pixel by pixel, as jpeg and as png, with its pointer", async () => {
      await onDesktop("svc_mouse_move", { x: 17, y: 23 });
      for (const format of ["jpeg", "png"] as const) {
        const told = await onDesktop("svc_screenshot", { format });
        expect(told.json).toEqual({ width: 1280, height: 720, format, cursor: { x: 17, y: 23 } });
        const { bytes, mimeType } = pictureOf(told);
        expect(mimeType).toBe(`image/${format}`);
        expect(await sharp(bytes).metadata()).toMatchObject({ format, width: 1280, height: 720 });
      }
    });

    test("is clicked, scrolled and dragged on, with a picture after it", async () => {
      await mouseWindow();
      const clicked = await onDesktop("svc_click", {
        x: 500,
        y: 350,
        clickCount: 4,
        screenshot: true,
      });
      expect(clicked.json).toMatchObject({ ok: true, width: 1280, cursor: { x: 500, y: 350 } });
      expect((await sharp(pictureOf(clicked).bytes).metadata()).height).toBe(720);
      await expect.poll(() => heard("ButtonRelease"), PATIENCE).toBe(4);
      await onDesktop("svc_click", { button: "scroll_down", clickCount: 5 });
      await onDesktop("svc_drag", { fromX: 450, fromY: 300, toX: 550, toY: 400, durationMs: 50 });
      await expect.poll(() => heard("ButtonRelease"), PATIENCE).toBe(10);
      expect(await heard("ButtonPress")).toBe(10);
      expect(await sh("grep -c ', button 5,' /tmp/xev")).toBe("10");
    });

    test("keeps a button down from call to call, until it is let go of", async () => {
      await mouseWindow();
      await onDesktop("svc_mouse_move", { x: 450, y: 300 });
      const down = await onDesktop("svc_mouse_down");
      expect(down.json).toEqual({ ok: true, heldSecondsMost: 120 });
      await onDesktop("svc_mouse_move", { x: 550, y: 400 });
      await expect.poll(() => heard("ButtonPress"), PATIENCE).toBe(1);
      // State 0x100: the pointer moved with the left button down.
      await expect
        .poll(() => sh("grep -c 'state 0x100, is_hint' /tmp/xev"), PATIENCE)
        .not.toBe("0");
      expect(await heard("ButtonRelease")).toBe(0);
      expect((await onDesktop("svc_mouse_up")).json).toEqual({ ok: true });
      await expect.poll(() => heard("ButtonRelease"), PATIENCE).toBe(1);
    });

    test("opens programs, and is typed on", async () => {
      const opened = await onDesktop("svc_open_app", {
        app: "terminal",
        args: ["-t", "typing", "-e", "sh -c 'cat > /tmp/typed'"],
        screenshot: true,
      });
      expect(opened.json).toMatchObject({ ok: true, pid: expect.any(Number) });
      expect(pictureOf(opened).bytes.length).toBeGreaterThan(1_000);
      await sh("until xdotool getactivewindow getwindowname | grep -q typing; do sleep 0.2; done");
      // A terminal has its window before it takes keys.
      await expect
        .poll(async () => {
          await onDesktop("svc_key", { key: "Return" });
          return sh("[ -s /tmp/typed ] && echo yes");
        }, PATIENCE)
        .toBe("yes");
      await onDesktop("svc_type", { text: "größe 你好\r\n" });
      await onDesktop("svc_key", { key: "ctrl+d" });
      const typed = "while pgrep -x cat >/dev/null; do sleep 0.1; done; cat /tmp/typed";
      expect(await sh(typed)).toBe("größe 你好");
    });

    test.each([
      ["svc_mouse_move", { x: 1280, y: 0 }, "OutOfBounds", /1280x720/],
      ["svc_click", { x: 5, y: 9999 }, "OutOfBounds", /1280x720/],
      ["svc_drag", { fromX: 1, fromY: 1, toX: 1, toY: 720 }, "OutOfBounds", /1280x720/],
      ["svc_key", { key: "ctrl+Retrun" }, "UnknownKey", /Return/],
      ["svc_open_app", { app: "no-such-app" }, "NotFound", /no-such-app/],
      ["svc_click", { x: 5 }, "ValidationError", /x and y/],
      ["svc_type", { text: "\u0007" }, "InvalidParams", /control character/],
    ])("%s of %o is %s", async (name, given, code, message) => {
      await expect(onDesktop(name, given)).rejects.toMatchObject({
        code,
        message: expect.stringMatching(message),
      });
    });

    test("is destroyed while a command runs on it", async () => {
      const answer = onDesktop("svc_exec", { command: "sleep 8643" });
      answer.catch(() => {});
      // Another tool would wait for its turn: a request does not.
      const body = { cmd: "pgrep", args: ["-fx", "sleep 8643"] };
      await vi.waitFor(async () => {
        const told = await machines.call(`/sandboxes/${desktop}/exec`, "POST", body);
        expect(await told.json()).toMatchObject({ exitCode: 0 });
      }, PATIENCE);
      expect((await onDesktop("svc_kill")).json).toEqual({ ok: true });
      await expect(answer).rejects.toMatchObject({ code: "NotRunning" });
    });
  });
});
