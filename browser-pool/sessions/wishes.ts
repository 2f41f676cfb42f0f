import { PlaceSlot, SLOT_WISHES, type SlotWish } from "@svc/contract/host-protocol/slots.ts";

/** The wishes that this pool keeps, as its heartbeat says, for sessions of kind `stealth`. Those of kind `fast` have none. */
export const KEPT_WISHES: readonly SlotWish[] = ["allowedDomains"];

/** A placement as the gateway asks for it; the wishes that this pool does not keep; or `malformed`. */
export type ReadAsk = { ask: PlaceSlot } | { unkept: string[] } | "malformed";

/** Reads a placement. A wish that this pool does not know or does not keep is named, never dropped. */
export function readAsk(body: unknown): ReadAsk {
  const { success, data, error } = PlaceSlot.safeParse(body);
  if (success) {
    const keepsAny = data.kind === "stealth";
    const unkept = SLOT_WISHES.filter(
      (wish) => data[wish] !== undefined && !(keepsAny && KEPT_WISHES.includes(wish)),
    );
    const named = data.proxy && !keepsAny ? [...unkept, "proxy"] : unkept;
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
