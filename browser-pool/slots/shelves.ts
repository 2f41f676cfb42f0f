import { BrowserKind } from "@svc/contract/browser/session.ts";
import type { WarmSlots } from "./warm-slots.ts";

/** The warm browsers of each kind. No kind takes the place of the other. */
export type Shelves = Record<BrowserKind, WarmSlots>;

/** How many browsers of a kind there are. */
export interface ShelfSize {
  /** Kept warm. */
  warm: number;
  /** At most, warm and in use. */
  most: number;
}

export const KINDS = BrowserKind.options;

/** The places of each kind among all slots of a pool: one row of numbers, of which each kind has its own part. */
export function placesOf(sizes: Record<BrowserKind, ShelfSize>): Record<BrowserKind, number[]> {
  const row = (first: number, length: number): number[] =>
    Array.from({ length }, (_, index) => first + index);
  const { fast, stealth } = sizes;
  return { fast: row(0, fast.most), stealth: row(fast.most, stealth.most) };
}
