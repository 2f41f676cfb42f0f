import {
  LISTED,
  WindowId,
  type WindowInfo,
} from "@svc/contract/control-channel/computer-methods.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import { setTimeout as wait } from "node:timers/promises";
import { ANSWER_MS, type Shell, ask, linesOf, short } from "./shell.ts";

/** Windows within windows that are looked through for those of programs. */
const MOST_LINES = 50_000;
const LINE_CHARACTERS = 4096;
/** How often it is looked whether a window has moved: its program may take less than it was told, or nothing. */
const LOOKS = 5;
const LOOK_MS = 100;
/** A title begins, which may be longer than its line. */
const OPEN_LINE = /^0x[\da-f]{1,8} "/;
const MOST_PARTS = 100;
/** Size, place in the frame, place on the screen. */
const PLACE_AT_END =
  /\)  (\d{1,5})x(\d{1,5})[+-]-?\d{1,5}[+-]-?\d{1,5}  ([+-]-?\d{1,5})([+-]-?\d{1,5})$/;
/** The largest number of X. */
const MOST = 0x7fff;

const LOOK = `xprop -root -notype _NET_ACTIVE_WINDOW _NET_CLIENT_LIST_STACKING && xwininfo -root -tree`;
/** A window that is maximized takes no size. The place is that of the window, not of its frame. */
const PLACE = `wmctrl -i -r "$1" -b remove,maximized_vert,maximized_horz
exec wmctrl -i -r "$1" -e "10,$2,$3,$4,$5"`;
/** A window under emulation may come to the front late: it is given nearly all of the time that an answer has. */
const FOCUS_S = ANSWER_MS / 1_000 - 3;
const FOCUS = `exec timeout ${FOCUS_S} xdotool windowactivate --sync "$1"`;

export type Geometry = Pick<WindowInfo, "x" | "y" | "width" | "height">;
interface Listed {
  windows: WindowInfo[];
  truncated: boolean;
}

/** The windows of programs, the topmost last. */
export async function listWindows(shell: Shell, signal: AbortSignal): Promise<Listed> {
  const { exitCode, stdout } = await ask(shell, LOOK, [], signal);
  if (exitCode !== 0) throw refuse("Disconnected", "The desktop does not tell its windows.");
  return parseWindows(stdout);
}

/** Brings a window to the front and gives it the keyboard. */
export async function focusWindow(shell: Shell, id: string, signal: AbortSignal): Promise<void> {
  await findWindow(shell, id, signal);
  const { exitCode } = await ask(shell, FOCUS, [id], signal);
  if (exitCode !== 0) throw refuse("Unsupported", `Window ${id} does not take the keyboard.`);
}

/** Moves and resizes a window, as far as it lets itself; resolves with where it is then. */
export async function placeWindow(
  shell: Shell,
  id: string,
  wanted: Partial<Geometry>,
  signal: AbortSignal,
): Promise<Geometry> {
  const before = geometryOf(await findWindow(shell, id, signal));
  if (Object.keys(wanted).length === 0) return before;
  const goal = { ...before, ...wanted };
  await place(shell, id, goal, signal);
  const now = await look(shell, id, { before, goal }, signal);
  if (isSame(now, before) || (now.x === goal.x && now.y === goal.y)) return now;
  // A window with a border of its own stands aside by its width.
  const aside = { ...goal, x: 2 * goal.x - now.x, y: 2 * goal.y - now.y };
  await place(shell, id, aside, signal);
  return look(shell, id, { before: now, goal }, signal);
}

async function place(shell: Shell, id: string, at: Geometry, signal: AbortSignal): Promise<void> {
  await ask(shell, PLACE, [id, ...[at.x, at.y, at.width, at.height].map(String)], signal);
}

/** Where a window is once it is where it should be, or as long as it is worth to wait. */
async function look(
  shell: Shell,
  id: string,
  { before, goal }: { before: Geometry; goal: Geometry },
  signal: AbortSignal,
): Promise<Geometry> {
  let now = before;
  for (let looks = 0; looks < LOOKS; looks += 1) {
    const last = now;
    now = geometryOf(await findWindow(shell, id, signal));
    const hasSettled = !isSame(now, before) && isSame(now, last);
    if (isSame(now, goal) || hasSettled) return now;
    await wait(LOOK_MS, undefined, { signal });
  }
  return now;
}

async function findWindow(shell: Shell, id: string, signal: AbortSignal): Promise<WindowInfo> {
  const { windows } = await listWindows(shell, signal);
  const found = windows.find((window) => window.id === id);
  if (!found) throw refuse("NotFound", `There is no window ${id}: computer.windows lists them.`);
  return found;
}

const geometryOf = ({ x, y, width, height }: WindowInfo): Geometry => ({ x, y, width, height });

const isSame = (one: Geometry, other: Geometry): boolean =>
  one.x === other.x &&
  one.y === other.y &&
  one.width === other.width &&
  one.height === other.height;

/** Reads what `xprop` and `xwininfo` have said. Titles are the guest's: nothing of them is trusted. */
export function parseWindows(said: string): Listed {
  const lines = linesOf(said, MOST_LINES, LINE_CHARACTERS);
  const focused = idsOf(lines.next().value ?? "")[0];
  const ids = idsOf(lines.next().value ?? "");
  const wanted = new Set(ids.slice(-LISTED.windows));
  const found = new Map<string, WindowInfo>();
  for (const line of wholeLines(lines)) {
    const window = parseWindow(line, focused);
    if (window && wanted.has(window.id) && !found.has(window.id)) found.set(window.id, window);
  }
  const windows = [...wanted].flatMap((id) => found.get(id) ?? []);
  return { windows, truncated: ids.length > wanted.size };
}

/** `_NET_CLIENT_LIST_STACKING: window id # 0x1e00003, 0x2000003` */
function idsOf(line: string): string[] {
  const [, list = ""] = line.split("# ");
  return list.split(", ").filter((id) => WindowId.safeParse(id).success);
}

/** Lines as `xwininfo` means them: a title may have new lines. */
function* wholeLines(lines: Iterable<string>): Generator<string> {
  let text = "";
  let parts = 0;
  for (const line of lines) {
    text = text === "" ? line.trim() : `${text.slice(0, LINE_CHARACTERS)} ${line}`;
    parts += 1;
    const isOpen = OPEN_LINE.test(text.slice(0, 32)) && !PLACE_AT_END.test(text.slice(-64));
    if (isOpen && parts < MOST_PARTS) continue;
    yield text;
    text = "";
    parts = 0;
  }
}

/** `0x1e00003 "root@desktop: ~": ("lxterminal" "Lxterminal")  640x480+1+20  +321+138`, the last two being its place on the screen. */
function parseWindow(text: string, focused: string | undefined): WindowInfo | null {
  const [, width, height, x, y] = PLACE_AT_END.exec(text.slice(-64))?.map(believed) ?? [];
  const id = text.slice(0, text.indexOf(" "));
  if (width === undefined || height === undefined || x === undefined || y === undefined)
    return null;
  if (!WindowId.safeParse(id).success) return null;
  const classAt = text.lastIndexOf(": (");
  const title = text.slice(id.length + 1, classAt);
  const className = text.slice(classAt).split('"')[3] ?? "";
  return {
    id,
    title: title.startsWith('"') ? short(title.slice(1, -1), LISTED.characters) : "",
    class: short(className, LISTED.characters),
    x,
    y,
    width,
    height,
    focused: id === focused,
  };
}

/** `+-5` is five pixels beyond the edge. */
const believed = (text: string): number =>
  Math.max(-MOST, Math.min(MOST, Number(text.replace("+", ""))));
