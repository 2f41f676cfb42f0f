import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { Guest } from "../guest/guest.ts";
import type { Point } from "../screen/path.ts";

const ASK = { cmd: "xdotool", args: ["getmouselocation", "--shell"], timeoutMs: 15_000 };
/** The largest place of a pointer that is believed. */
const MOST = 0xffff;

/** Where the pointer of a desktop is. RFB does not tell. */
export async function pointerOf(guest: Pick<Guest, "exec">): Promise<Point> {
  const { stdout } = await guest.exec(ASK);
  const [, x, y] = /^X=(\d{1,5})\nY=(\d{1,5})\n/.exec(stdout) ?? [];
  if (x === undefined || y === undefined)
    throw refuse("Disconnected", "The desktop does not tell where its pointer is.");
  return { x: Math.min(Number(x), MOST), y: Math.min(Number(y), MOST) };
}
