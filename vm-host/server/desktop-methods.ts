import { COMPUTER_METHODS } from "@svc/contract/control-channel/computer-methods.ts";
import { method } from "@svc/contract/control-channel/method.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { Method } from "@svc/contract/control-channel/rpc-server.ts";
import { readClipboard, writeClipboard } from "../desktop/clipboard.ts";
import { listPorts, listProcesses, openTarget } from "../desktop/programs.ts";
import { focusWindow, listWindows, placeWindow } from "../desktop/windows.ts";
import type { Guest } from "../guest/guest.ts";
import type { Screen } from "../screen/screen.ts";

const DONE = { ok: true } as const;

/** The desktop of a machine: its screen, and the programs inside that are asked for the rest. */
interface Desktop {
  screen: Screen;
  guest: Pick<Guest, "exec" | "files">;
}

/** What is on a desktop: clipboard, windows, programs; and whether its screen rests. */
export function desktopMethods(desktop: Desktop): Record<string, Method> {
  return { ...clipboardMethods(desktop), ...windowMethods(desktop), ...programMethods(desktop) };
}

function clipboardMethods({ guest }: Desktop): Record<string, Method> {
  const { "computer.clipboardGet": get, "computer.clipboardSet": set } = COMPUTER_METHODS;
  return {
    "computer.clipboardGet": method(get, async (_asked, { signal }) => ({
      text: await readClipboard(guest, signal),
    })),
    "computer.clipboardSet": method(set, async ({ text }, { signal }) => {
      await writeClipboard(guest, text, signal);
      return DONE;
    }),
  };
}

function windowMethods({ guest, screen }: Desktop): Record<string, Method> {
  const {
    "computer.windows": windows,
    "computer.focus": focus,
    "computer.geometry": geometry,
    "computer.wait": wait,
  } = COMPUTER_METHODS;
  return {
    "computer.windows": method(windows, (_asked, { signal }) => listWindows(guest, signal)),
    "computer.focus": method(focus, async ({ id }, { signal }) => {
      await focusWindow(guest, id, signal);
      return DONE;
    }),
    "computer.geometry": method(geometry, async ({ id, ...wanted }, { signal }) => {
      await isOnScreen(screen, wanted);
      return placeWindow(guest, id, wanted, signal);
    }),
    "computer.wait": method(wait, (wish, { signal }) => screen.still(wish, signal)),
  };
}

/** Throws `OutOfBounds` where nothing of a window would be seen. */
async function isOnScreen(screen: Screen, { x = 0, y = 0 }: { x?: number; y?: number }) {
  if (x === 0 && y === 0) return;
  const client = await screen.client();
  await client.settle();
  const { width, height } = client.size;
  if (x < 0 || y < 0 || x >= width || y >= height)
    throw refuse("OutOfBounds", `${x},${y} is not on the screen, which has ${width}x${height}.`);
}

function programMethods({ guest }: Desktop): Record<string, Method> {
  const {
    "computer.open": open,
    "computer.processes": processes,
    "computer.ports": ports,
  } = COMPUTER_METHODS;
  return {
    "computer.open": method(open, async ({ target, args }, { signal }) => ({
      pid: await openTarget(guest, target, args, signal),
    })),
    "computer.processes": method(processes, (_asked, { signal }) => listProcesses(guest, signal)),
    "computer.ports": method(ports, (_asked, { signal }) => listPorts(guest, signal)),
  };
}
