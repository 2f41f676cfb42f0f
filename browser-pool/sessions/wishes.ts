import type { BrowserKind } from "@svc/contract/browser/session.ts";
import { PlaceSlot, SLOT_WISHES, type SlotWish } from "@svc/contract/host-protocol/slots.ts";

/** The kinds of sessions that this pool keeps a wish for. */
const KEPT_FOR: Record<SlotWish, readonly BrowserKind[]> = {
  allowedDomains: ["stealth"],
  recording: ["fast", "stealth"],
};

/** The wishes that a pool keeps, as its heartbeat says. `canRecord`: whether it has what recordings need. */
export const keptWishes = (canRecord: boolean): SlotWish[] =>
  SLOT_WISHES.filter((wish) => wish !== "recording" || canRecord);

/** A placement as the gateway asks for it; the wishes that this pool does not keep; or `malformed`. */
export type ReadAsk = { ask: PlaceSlot } | { unkept: string[] } | "malformed";

/** Reads a placement. A wish that this pool does not know or does not keep is named, never dropped. */
export function readAsk(body: unknown, kept: readonly SlotWish[]): ReadAsk {
  const { success, data, error } = PlaceSlot.safeParse(body);
  if (success) {
    const isKept = (wish: SlotWish): boolean =>
      kept.includes(wish) && KEPT_FOR[wish].includes(data.kind);
    const unkept = SLOT_WISHES.filter((wish) => data[wish] !== undefined && !isKept(wish));
    const stealthy = (["proxy", "captcha"] as const).filter(
      (wish) => data[wish] !== undefined && data.kind !== "stealth",
    );
    const named = [...unkept, ...stealthy];
    return named.length > 0 ? { unkept: named } : { ask: data };
  }
  const unknown = error.issues.map((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => [...issue.path, key].join("."))
      : null,
  );
  if (unknown.includes(null)) return "malformed";
  return { unkept: unknown.flatMap((keys) => keys ?? []) };
}
