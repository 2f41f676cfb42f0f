import { hasColours } from "./colours.ts";
import { bytesText } from "./table.ts";

/** Told how much is done so far. */
export type Count = (done: number, words?: string) => void;

interface Shown {
  count: Count;
  end(words: string): void;
  fail(words: string): void;
}

const SILENT: Shown = { count: () => {}, end: () => {}, fail: () => {} };

/** A bar is drawn so often, at most: a terminal far away is slow. */
const REDRAW_MS = 100;
/** What is over sooner needs no bar. */
const QUICK_BYTES = 1_048_576;

/** Does work on bytes while a bar tells how far it is. `total`: null while nobody knows. Without a terminal nothing is drawn. */
export async function meter<Result>(
  what: string,
  total: number | null,
  work: (count: Count) => Promise<Result>,
): Promise<Result> {
  const isQuick = total !== null && total < QUICK_BYTES;
  const shown = !isQuick && hasBars() ? await bar(what, total) : SILENT;
  let sum = 0;
  try {
    const result = await work((done) => shown.count((sum = done), amount(done, total)));
    shown.end(`${what}: ${bytesText(sum)}`);
    return result;
  } catch (error) {
    shown.fail(`${what}: stopped after ${bytesText(sum)}`);
    throw error;
  }
}

/** Does work in steps while a bar tells how far it is. */
export async function steps<Result>(
  what: string,
  total: number,
  work: (count: Count) => Promise<Result>,
): Promise<Result> {
  const shown = hasBars() && total > 0 ? await bar(what, total) : SILENT;
  try {
    const result = await work(shown.count);
    shown.end(what);
    return result;
  } catch (error) {
    shown.fail(`${what}: failed`);
    throw error;
  }
}

/** A bar needs a terminal that moves its cursor. */
const hasBars = (): boolean => process.stderr.isTTY === true && process.env.TERM !== "dumb";

const amount = (done: number, total: number | null): string =>
  total === null ? bytesText(done) : `${bytesText(done)} of ${bytesText(total)}`;

async function bar(what: string, total: number | null): Promise<Shown> {
  const { progress, spinner } = await import("@clack/prompts");
  const look = {
    output: process.stderr,
    withGuide: false,
    ...(!hasColours(process.stderr) && plain),
  };
  const measured =
    total === null
      ? null
      : progress({ ...look, max: Math.max(1, total), size: 30, style: "heavy" });
  const drawn = measured ?? spinner(look);
  drawn.start(what);
  let shownAt = 0;
  let done = 0;
  const count: Count = (now, words = "") => {
    if (Date.now() - shownAt < REDRAW_MS && now !== total) return;
    shownAt = Date.now();
    const text = words && `${what}: ${words}`;
    if (measured) measured.advance(now - done, text || what);
    else drawn.message(text || what);
    done = now;
  };
  return { count, end: (words) => drawn.stop(words), fail: (words) => drawn.error(words) };
}

const plain = { styleFrame: (frame: string): string => frame };
