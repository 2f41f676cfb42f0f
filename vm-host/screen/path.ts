/** A place on a screen. */
export interface Point {
  x: number;
  y: number;
}

/**
 * Where a pointer goes along a path in so many steps of one length: with each step the corners that it passes, and where it
 * is after it.
 */
export function* stepsOf(path: readonly Point[], steps: number): Generator<Point[]> {
  const lines = path.slice(1).map((to, at) => lineTo(path[at] ?? to, to));
  const whole = lines.reduce((sum, { length }) => sum + length, 0);
  const count = Math.max(1, Math.round(steps));
  let behind = 0;
  for (let step = 1; step <= count; step += 1) {
    const reached = step === count ? whole : (whole * step) / count;
    const passed: Point[] = [];
    for (;;) {
      const [line, next] = lines;
      if (!line || !next || behind + line.length > reached) break;
      behind += line.length;
      passed.push(line.to);
      lines.shift();
    }
    const [line] = lines;
    if (line) passed.push(line.at(line.length === 0 ? 1 : (reached - behind) / line.length));
    yield passed;
  }
}

interface Line {
  to: Point;
  length: number;
  /** The place after this part of it. */
  at: (part: number) => Point;
}

function lineTo(from: Point, to: Point): Line {
  const across = to.x - from.x;
  const along = to.y - from.y;
  return {
    to,
    length: Math.hypot(across, along),
    at: (part) => ({ x: Math.round(from.x + across * part), y: Math.round(from.y + along * part) }),
  };
}
