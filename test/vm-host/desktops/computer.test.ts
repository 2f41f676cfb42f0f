import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ControlClient, openControlClient } from "../../support/process/control-client.ts";
import { missingDesktop } from "../rig/needs.ts";
import { Rig } from "../rig/rig.ts";
import { TEXT, programCases } from "./program-cases.ts";

const MACHINE_MS = 400_000;
const DESKTOP: Partial<PlaceVm> = {
  kind: "desktop",
  source: { type: "image", name: "desktop" },
  memMb: 2048,
  resolution: "1024x768",
};
const DRAWN = "until wmctrl -m && xdotool search --onlyvisible --class tint2; do sleep 0.2; done";

describe.skipIf(await missingDesktop())("computer.*", { timeout: MACHINE_MS }, () => {
  let rig: Rig;
  let control: ControlClient;
  const ask: ControlClient["client"]["ask"] = (...asked) => control.client.ask(...asked);

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    await rig.gateway.beat(({ capabilities }) => capabilities.includes("desktop"));
    await rig.place("one", DESKTOP);
    // Nothing is drawn in the first moment of a machine that boots.
    await rig.sh("one", DRAWN);
    control = await open();
  }, MACHINE_MS);
  afterAll(() => rig?.stop());

  async function open(): Promise<ControlClient> {
    const { url, headers } = await rig.socket("one");
    return openControlClient(url, headers);
  }

  /** A shell line: ends the programs of a name, of which nothing is to be taken for that of the next one. */
  const end = (name: string): string =>
    `pkill ${name}; while pgrep -x ${name} >/dev/null; do sleep 0.1; done;`;

  /** A program in a terminal, once keys go to its window; those before it are closed. */
  async function inTerminal(title: string, program: string): Promise<void> {
    const start = `${end("lxterminal")} setsid lxterminal -t ${title} -e ${program} >/dev/null 2>&1 &`;
    const isActive = `xdotool getactivewindow getwindowname | grep -q ${title}`;
    await rig.sh("one", `${start} until ${isActive} 2>/dev/null; do sleep 0.2; done`);
  }

  /** A window that tells of the mouse, in the middle of the screen. */
  async function mouseWindow(): Promise<void> {
    const start = `${end("xev")} setsid xev -geometry 400x300+300+200 -event mouse > /tmp/xev 2>&1 &`;
    const isThere = "xdotool search --onlyvisible --name 'Event Tester'";
    await rig.sh("one", `${start} until ${isThere}; do sleep 0.2; done`);
  }

  const heard = (what: string): Promise<string> =>
    rig.sh(
      "one",
      `until grep -q '^${what}' /tmp/xev; do sleep 0.1; done; grep -c '^${what}' /tmp/xev`,
    );

  async function screenshot(asked: object) {
    const parts: Buffer[] = [];
    const { result } = control.client.call("computer.screenshot", asked, {
      onBytes: (_channel, bytes) => void parts.push(Buffer.from(bytes)),
    });
    return { ...(await result), bytes: Buffer.concat(parts) };
  }

  test("tells the size of the screen, and where the pointer is", async () => {
    expect(await ask("computer.screen", {})).toEqual({ width: 1024, height: 768 });
    await ask("computer.move", { x: 17, y: 23 });
    expect(await ask("computer.cursor", {})).toEqual({ x: 17, y: 23 });
  });

  test.each([
    [{}, "png", 1024, 768],
    [{ format: "jpeg", quality: 50, scale: 0.5 }, "jpeg", 512, 384],
    [{ region: { x: 10, y: 700, width: 300, height: 68 } }, "png", 300, 68],
  ])("takes a picture: %o", async (asked, format, width, height) => {
    const { bytes, ...got } = await screenshot(asked);
    expect(got).toEqual({ width, height, format });
    expect(await sharp(bytes).metadata()).toMatchObject({ width, height, format });
    const { channels } = await sharp(bytes).stats();
    // It shows something: not all of it has one colour.
    expect(Math.max(...channels.map(({ stdev }) => stdev))).toBeGreaterThan(1);
  });

  test.each(["us", "de", "fr"])("types any text on a keyboard of layout %s", async (layout) => {
    await rig.sh("one", `rm -f /tmp/typed; setxkbmap ${layout}`);
    await inTerminal(`typing-${layout}`, "'sh -c \"cat > /tmp/typed\"'");
    // A terminal has its window before it takes keys.
    const taken = async (): Promise<string> => {
      await ask("computer.key", { key: "Return" });
      return rig.sh("one", "[ -s /tmp/typed ] && echo yes");
    };
    await expect.poll(taken, { timeout: 120_000, interval: 500 }).toBe("yes");
    await ask("computer.type", { text: `${TEXT}\n` });
    await ask("computer.key", { key: "ctrl+d" });
    const typed = "while pgrep -x cat >/dev/null; do sleep 0.1; done; cat /tmp/typed";
    expect(await rig.sh("one", typed)).toBe(TEXT);
  });

  test("clicks, scrolls and drags, and lets go of every button", async () => {
    await mouseWindow();
    await ask("computer.click", { x: 500, y: 350, count: 2 });
    await ask("computer.scroll", { dy: 3 });
    await ask("computer.drag", { fromX: 450, fromY: 300, toX: 550, toY: 400, durationMs: 50 });
    // Two clicks, three steps of the wheel, one drag.
    await expect.poll(() => heard("ButtonRelease")).toBe("6");
    expect(await heard("ButtonPress")).toBe("6");
    expect(await ask("computer.cursor", {})).toEqual({ x: 550, y: 400 });
  });

  test("drags along a path, past each of its corners", async () => {
    await mouseWindow();
    const path = [
      [450, 300],
      [550, 300],
      [550, 400],
      [450, 400],
    ].map(([x = 0, y = 0]) => ({ x, y }));
    await ask("computer.drag", { path, durationMs: 100 });
    expect(await heard("ButtonRelease")).toBe("1");
    for (const { x, y } of path)
      expect(await rig.sh("one", `grep -c 'root:(${x},${y})' /tmp/xev`)).not.toBe("0");
  });

  test("a button that a client holds goes up when the client has gone", async () => {
    await mouseWindow();
    const other = await open();
    await other.client.ask("computer.move", { x: 500, y: 350 });
    await other.client.ask("computer.down", {});
    expect(await heard("ButtonPress")).toBe("1");
    other.socket.terminate();
    expect(await heard("ButtonRelease")).toBe("1");
  });

  programCases(() => ({ ask, rig, inTerminal, mouseWindow }));

  test.each([
    ["computer.focus", { id: "0x7ffffff" }, { code: "NotFound" }, /computer\.windows/],
    ["computer.geometry", { id: "0x7ffffff" }, { code: "NotFound" }, /computer\.windows/],
    ["computer.geometry", { id: "0x1", x: 1024 }, { code: "OutOfBounds" }, /1024x768/],
    ["computer.focus", { id: "; reboot" }, { field: "id" }, /computer\.windows/],
    ["computer.drag", { path: [{ x: 1, y: 1 }] }, { field: "path" }, /path/],
    ["computer.drag", { fromX: 1, fromY: 1, toX: 2 }, { field: "toY" }, /without a path/],
    [
      "computer.drag",
      {
        path: [
          { x: 1, y: 1 },
          { x: 1, y: 768 },
        ],
      },
      { code: "OutOfBounds" },
      /1024x768/,
    ],
    ["computer.wait", { stillMs: -1 }, { field: "stillMs" }, /stillMs/],
  ] as const)("%s %o is refused by its reason", async (method, asked, data, text) => {
    await expect(ask(method, asked as never)).rejects.toMatchObject({
      data,
      message: expect.stringMatching(text),
    });
  });

  test.each([
    ["computer.move", { x: 1024, y: 0 }, "OutOfBounds", /1024x768/],
    ["computer.click", { x: -1, y: 5 }, "OutOfBounds", /1024x768/],
    [
      "computer.screenshot",
      { region: { x: 1000, y: 0, width: 100, height: 10 } },
      "OutOfBounds",
      /1024x768/,
    ],
    ["computer.key", { key: "ctrl+Retrun" }, "UnknownKey", /Return/],
  ] as const)("%s %o is refused", async (method, asked, code, text) => {
    const answer = control.client.call(method, asked as never, { onBytes: () => {} }).result;
    await expect(answer).rejects.toMatchObject({
      data: { code },
      message: expect.stringMatching(text),
    });
  });

  test("goes on with another screen where the first has ended", async () => {
    await rig.sh("one", "pkill -KILL Xtigervnc; until wmctrl -m; do sleep 0.2; done");
    // The connection may be found broken once.
    const size = () => ask("computer.screen", {}).catch(() => null);
    await expect.poll(size).toEqual({ width: 1024, height: 768 });
    await ask("computer.move", { x: 5, y: 5 });
  });
});
