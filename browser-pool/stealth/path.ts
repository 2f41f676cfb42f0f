/** A place in a page, in CSS pixels. */
export interface Point {
  x: number;
  y: number;
}

/** A move of a hand: where the mouse is next, and how long after the place before. */
export interface Step extends Point {
  afterMs: number;
}

const STEP_PX = 18;
const FEWEST = 6;
const MOST = 40;
/** How far a path bends from the straight line, as a part of its length. */
const BEND = 0.25;
const SHAKE_PX = 1;
const SHORTEST_MS = 4;
const LONGEST_MS = 12;

/** The way from one place to another, without its end: bent, shaky, fastest in its middle. `random` as `Math.random`. */
export function pathBetween(from: Point, to: Point, random: () => number): Step[] {
  const [across, down] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(across, down);
  const count = Math.min(MOST, Math.max(FEWEST, Math.round(length / STEP_PX)));
  const bend = (random() - 0.5) * BEND;
  const middle = {
    x: (from.x + to.x) / 2 - down * bend,
    y: (from.y + to.y) / 2 + across * bend,
  };
  const shake = (): number => (random() - 0.5) * SHAKE_PX;
  return Array.from({ length: count - 1 }, (_, index) => {
    const part = (index + 1) / count;
    const eased = part * part * (3 - 2 * part);
    return {
      // A page has nothing beyond its edge.
      x: Math.max(0, curve(from.x, middle.x, to.x, eased) + shake()),
      y: Math.max(0, curve(from.y, middle.y, to.y, eased) + shake()),
      afterMs: SHORTEST_MS + random() * (LONGEST_MS - SHORTEST_MS),
    };
  });
}

/** Where the mouse comes in on its way to a place: at the upper edge, not far from straight above. */
export function entryFor({ x }: Point, random: () => number): Point {
  return { x: Math.max(0, x + (random() - 0.5) * 400), y: 0 };
}

function curve(from: number, middle: number, to: number, part: number): number {
  return (1 - part) ** 2 * from + 2 * (1 - part) * part * middle + part ** 2 * to;
}
