import { canServe } from "@svc/contract/host-protocol/exits.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { inBrowser } from "../launch/in-browser.ts";
import type { Slot } from "../slots/slot.ts";
import { BlockWatch } from "./block-watch.ts";
import type { Exits } from "./exits.ts";
import { Ladder } from "./ladder.ts";

interface LadderMeans {
  exits: Exits;
  log: Log;
  /** A rung was climbed. */
  onChange: () => void;
}

/** The ladder of a session of an org; null where there is nothing to climb to, or pages cannot be watched. */
export async function beginLadder(
  org: string,
  slot: Slot,
  { exits, log, onChange }: LadderMeans,
): Promise<Ladder | null> {
  if (!canServe(exits.offers, "smart")) return null;
  const ladder = new Ladder(
    slot,
    (wish, signal) => exits.open(org, wish, signal),
    (rung) => {
      log.info({ slot: slot.number, ...rung }, "ladder_climbed");
      onChange();
    },
  );
  try {
    await inBrowser(BlockWatch.start(slot, ladder), LIMITS.exitCheckMs, slot.died);
    return ladder;
  } catch (error) {
    log.warn({ slot: slot.number, reason: messageOf(error) }, "ladder_not_started");
    return null;
  }
}
