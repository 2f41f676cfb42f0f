import { CLIPBOARD_BYTES } from "@svc/contract/control-channel/computer-methods.ts";
import { expect, test, vi } from "vitest";
import type { ControlClient } from "../../support/process/control-client.ts";
import type { Rig } from "../rig/rig.ts";

const PATIENCE = { timeout: 120_000, interval: 500 };
export const TEXT = 'Aa1_-$"ñßø漢字🙂';

/** A real desktop of 1024x768, machine `one`, and who asks it. */
interface Desktop {
  rig: Rig;
  ask: ControlClient["client"]["ask"];
  /** Opens a terminal in which a program runs; those before it are closed. */
  inTerminal: (title: string, program: string) => Promise<void>;
  /** Opens a window that writes what it hears of the mouse to /tmp/xev. */
  mouseWindow: () => Promise<void>;
}

/** What `computer.*` does with programs of a desktop: clipboard, windows, processes, and whether all of it rests. */
export function programCases(desktop: () => Desktop): void {
  const ask: Desktop["ask"] = (...asked) => desktop().ask(...asked);
  const sh = (line: string): Promise<string> => desktop().rig.sh("one", line);

  /** The windows of a class, or with a title. */
  async function windowsOf(name: string) {
    const { windows } = await ask("computer.windows", {});
    return windows.filter((window) => [window.class, window.title].includes(name));
  }

  /** A window of that name, once there is one. */
  const windowOf = (name: string) =>
    vi.waitFor(async () => {
      const [found] = await windowsOf(name);
      if (!found) throw new Error(`no window of ${name}`);
      return found;
    }, PATIENCE);

  test("has the clipboard of the desktop, both ways", async () => {
    await ask("computer.clipboardSet", { text: TEXT });
    expect(await sh("xclip -selection clipboard -o")).toBe(TEXT);
    await sh("printf 'from\\n inside ñ漢🙂' | xclip -selection clipboard >/dev/null 2>&1");
    // Whose it is by then is known a moment after xclip has gone into the background.
    const text = async (): Promise<string> => (await ask("computer.clipboardGet", {})).text;
    await expect.poll(text).toBe("from\n inside ñ漢🙂");
    await ask("computer.clipboardSet", { text: "" });
    expect(await text()).toBe("");
  });

  test("pastes 1 MB into a terminal, and refuses more", async () => {
    await sh("rm -f /tmp/typed; setxkbmap us");
    const line = "ñß漢🙂 ".repeat(5);
    const text = `${line}\n`.repeat(CLIPBOARD_BYTES / Buffer.byteLength(`${line}\n`));
    expect(Buffer.byteLength(text)).toBeGreaterThan(CLIPBOARD_BYTES - 100);
    await ask("computer.clipboardSet", { text });
    expect((await ask("computer.clipboardGet", {})).text === text).toBe(true);
    await desktop().inTerminal("pasting", "'sh -c \"cat >> /tmp/typed\"'");
    // A terminal has its window before it takes keys. Keys keep their order: after the last one none is to come.
    const taken = async (): Promise<string> => {
      await ask("computer.key", { key: "Return" });
      return sh("[ -s /tmp/typed ] && echo yes");
    };
    await expect.poll(taken, PATIENCE).toBe("yes");
    await ask("computer.type", { text: "last\n" });
    await expect.poll(() => sh("tail -n 1 /tmp/typed"), PATIENCE).toBe("last");
    await sh(": > /tmp/typed");
    await ask("computer.key", { key: "ctrl+shift+v" });
    const size = () => sh("stat -c %s /tmp/typed");
    await expect.poll(size, PATIENCE).toBe(String(Buffer.byteLength(text)));
    const same = "xclip -selection clipboard -o | cmp - /tmp/typed && echo same";
    expect(await sh(same)).toBe("same");
    await expect(
      ask("computer.clipboardSet", { text: "x".repeat(CLIPBOARD_BYTES + 1) }),
    ).rejects.toMatchObject({ data: { code: "TooLarge" } });
  });

  test("lists windows, gives them the keyboard, moves and resizes them", async () => {
    await desktop().inTerminal("first", "cat");
    await desktop().mouseWindow();
    const terminal = await windowOf("Lxterminal");
    expect(terminal.title).toBe("first");
    await ask("computer.focus", { id: terminal.id });
    expect(await windowsOf("Lxterminal")).toMatchObject([{ id: terminal.id, focused: true }]);
    const { id } = await windowOf("Event Tester");
    const place = { x: 100, y: 120, width: 500, height: 350 };
    expect(await ask("computer.geometry", { id, ...place })).toEqual(place);
    expect(await ask("computer.geometry", { id, x: 90 })).toEqual({ ...place, x: 90 });
    expect(await ask("computer.geometry", { id })).toEqual({ ...place, x: 90 });
    // The place of its corner is that on the screen.
    await ask("computer.focus", { id });
    await sh(": > /tmp/xev");
    await ask("computer.click", { x: 91, y: 121 });
    await expect.poll(() => sh("grep -ac '(1,1), root:(91,121)' /tmp/xev")).not.toBe("0");
  });

  test("a title without an end, of several lines, hides no window and stays short", async () => {
    const { id } = await windowOf("Event Tester");
    const title = 'printf "a\nb\\"c"; head -c 100000 /dev/zero | tr "\\0" x';
    const set = `xprop -id ${id} -f _NET_WM_NAME 8u -set _NET_WM_NAME "$(${title})"`;
    await sh(set);
    const { windows } = await ask("computer.windows", {});
    const { title: told = "" } = windows.find((window) => window.id === id) ?? {};
    expect(told).toMatch(/^a b"cx+$/);
    expect(told.length).toBe(300);
  });

  test("lists processes and ports", async () => {
    const { processes } = await ask("computer.processes", {});
    const screen = processes.find(({ name }) => name === "Xtigervnc");
    expect(screen?.command).toContain("-rfbport 5901");
    const { ports } = await ask("computer.ports", {});
    expect(ports).toContainEqual({
      port: 5901,
      address: "127.0.0.1",
      pid: screen?.pid,
      process: "Xtigervnc",
    });
  });

  test("opens programs and folders, and says where there is none", async () => {
    const { pid } = await ask("computer.open", { target: "editor", args: ["/tmp/a file"] });
    expect(await sh(`tr '\\0' ' ' < /proc/${pid}/cmdline`)).toMatch(/mousepad/);
    await windowOf("Mousepad");
    await ask("computer.open", { target: "/usr" });
    await windowOf("Pcmanfm");
    const answer = ask("computer.open", { target: "no-such-program" });
    await expect(answer).rejects.toMatchObject({ data: { code: "NotFound", retryable: false } });
    await sh("pkill mousepad; pkill pcmanfm");
  });

  test("waits until the screen rests, tells when it does not, and can be stopped", async () => {
    await sh("pkill lxterminal; pkill xev; true");
    expect(await ask("computer.wait", { limitMs: 60_000 })).toMatchObject({ still: true });
    const paint =
      "while :; do xsetroot -solid red; sleep 0.1; xsetroot -solid blue; sleep 0.1; done";
    await sh(`setsid sh -c '${paint}' >/dev/null 2>&1 & echo $! > /tmp/paint`);
    // A screen whose painter gets no processor for so long counts as resting: the wish is longer than that.
    const wish = { stillMs: 5_000, limitMs: 10_000 };
    expect(await ask("computer.wait", wish)).toMatchObject({ still: false });
    const left = new AbortController();
    const waiting = ask("computer.wait", { ...wish, limitMs: 120_000 }, left.signal);
    left.abort();
    await expect(waiting).rejects.toMatchObject({ code: -32_800 });
    const late = ask("computer.wait", { ...wish, limitMs: 120_000, timeoutMs: 1_000 } as never);
    await expect(late).rejects.toMatchObject({ code: -32_801 });
    await sh("kill $(cat /tmp/paint)");
    expect(await ask("computer.wait", { limitMs: 60_000 })).toMatchObject({ still: true });
  });

  test("a clipboard whose owner never answers is told as that, and holds nobody up", async () => {
    await sh("printf x | xclip -selection clipboard >/dev/null 2>&1; pkill -STOP xclip");
    const held = ask("computer.clipboardGet", {});
    expect(await ask("computer.screen", {})).toEqual({ width: 1024, height: 768 });
    await expect(held).rejects.toMatchObject({ data: { code: "Disconnected" } });
    await sh("pkill -KILL xclip");
    expect(await ask("computer.clipboardGet", {})).toEqual({ text: "" });
  });
}
