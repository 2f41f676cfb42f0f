import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import type { HostEndReason, SlotReport } from "@svc/contract/host-protocol/heartbeat.ts";
import type { PlaceSlot, SlotHandoff, SlotPlaced } from "@svc/contract/host-protocol/slots.ts";
import { setAlarm } from "@svc/host-kit/alarm.ts";
import type { Feed } from "../observing/feed.ts";
import type { Ladder } from "../proxies/ladder.ts";
import type { Slot } from "../slots/slot.ts";
import { CustomerSockets } from "../customer-sockets.ts";

/** Why a session ends: a reason of this host, `told` by the gateway, or `stopped` with the pool. */
export type EndReason = HostEndReason | "told" | "stopped";

const GOODBYES = {
  browser_crashed: { code: CLOSE_CODES.gone, reason: "The browser crashed." },
  expired: { code: CLOSE_CODES.deadline, reason: "The session reached its deadline." },
  orphaned: { code: CLOSE_CODES.gone, reason: "The session was lost: its gateway is away." },
  told: { code: CLOSE_CODES.gone, reason: "The session has ended." },
  stopped: { code: CLOSE_CODES.gone, reason: "The browser pool stops." },
} as const satisfies Record<EndReason, { code: number; reason: string }>;

interface Goodbye {
  code: number;
  reason: string;
}

/** A session on this pool: a slot and the customer sockets on it. */
export class Session {
  readonly id: string;
  readonly slot: Slot;
  readonly placed: SlotPlaced;
  readonly sockets: CustomerSockets;
  /** Whether the session was placed with allowed domains: only then can they be replaced. */
  readonly isConfined: boolean;
  readonly #ladder: Ladder | null;
  readonly #cancelDeadline: () => void;
  #feed: Feed | null = null;
  #goodbye: Goodbye | null = null;
  #handoffSeq = -1;

  constructor(
    id: string,
    ask: PlaceSlot,
    { slot, ladder }: { slot: Slot; ladder: Ladder | null },
    placed: SlotPlaced,
    on: { change: () => void; deadline: () => void },
  ) {
    this.id = id;
    this.slot = slot;
    this.placed = placed;
    this.#ladder = ladder;
    this.isConfined = ask.allowedDomains !== undefined;
    this.sockets = new CustomerSockets(on.change);
    this.#cancelDeadline = setAlarm(ask.expiresAt, on.deadline);
  }

  /** Closes the sockets with the reason. The caller retires the slot. */
  end(reason: EndReason): void {
    this.#cancelDeadline();
    const { code, reason: words } = GOODBYES[reason];
    const { excess } = this.slot;
    this.#goodbye = { code, reason: excess ? `The session has ended: ${excess}.` : words };
    this.sockets.end(this.#goodbye.code, this.#goodbye.reason);
    this.#feed?.end(this.#goodbye.code, this.#goodbye.reason);
  }

  /** Who watches has a new feed; the one before ends. Watching keeps no session alive. */
  watchedBy(feed: Feed): void {
    this.#feed?.cut();
    this.#feed = feed;
    // The session ended while the feed was opening.
    if (this.#goodbye) feed.end(this.#goodbye.code, this.#goodbye.reason);
  }

  /** Is told whether a hand-off is open, in whose time nothing that is typed is recorded. What was overtaken says nothing. */
  async handedOff({ seq, isOpen }: SlotHandoff): Promise<void> {
    if (seq < this.#handoffSeq) return;
    this.#handoffSeq = seq;
    await this.slot.hideInput(isOpen);
  }

  report(ended?: HostEndReason): SlotReport {
    const { opens, closes, lastClose, lastActivityAt } = this.sockets;
    const rungs = this.#ladder?.rungs ?? [];
    return {
      id: this.id,
      kind: this.slot.kind,
      opens,
      closes: ended ? opens : closes,
      lastActivityAt,
      ...(opens === closes && lastClose && { lastClose }),
      ...(rungs.length > 0 && { rungs }),
      ...(ended && { ended }),
    };
  }
}
