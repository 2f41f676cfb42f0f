import type { Socket } from "node:net";
import { CdpPipe } from "../cdp/pipe.ts";
import { Turns } from "../cdp/turns.ts";
import { ANSWER_BYTES, controlText } from "./messages.ts";

const BEAT_MS = 5_000;
const MISSED = 6;
/** How long a Playwright may say nothing. */
export const SILENT_MS = BEAT_MS * MISSED;

/**
 * Asks a Playwright over a connection of its own whether it lives. A Playwright that a client keeps busy for half a
 * minute keeps all clients of its org waiting: `onSilent` is called, once.
 */
export function watchPulse(socket: Socket, onSilent: () => void, beatMs = BEAT_MS): void {
  const line = new CdpPipe(socket, socket, new Turns(), ANSWER_BYTES);
  let missed = 0;
  // Counted, not timed: when this process was stopped itself nothing was missed.
  const timer = setInterval(() => {
    missed += 1;
    if (missed <= MISSED) line.write(controlText({ ping: true }));
    else socket.destroy();
  }, beatMs).unref();
  line.open(
    () => (missed = 0),
    () => {
      clearInterval(timer);
      if (missed > MISSED) onSilent();
    },
  );
}
