import { styled } from "./colours.ts";
import { plain } from "./plain.ts";
import { bytesText } from "./table.ts";

/** Takes the amount that is done so far, and words for the present step. */
export type Count = (done: number, words?: string) => void;

/** A bar is drawn so often, at most: a terminal far away is slow. */
const REDRAW_MS = 100;
/** Less than this is over too soon for a bar. */
const QUICK_BYTES = 1_048_576;
const WIDTH = 30;

/** Does work on bytes while a bar tells how far it is. `total`: null while nobody knows. Without a terminal nothing is drawn. */
export function meter<Result>(
  what: string,
  total: number | null,
  work: (count: Count) => Promise<Result>,
): Promise<Result> {
  const isQuick = total !== null && total < QUICK_BYTES;
  const amount = (done: number): string =>
    total === null ? bytesText(done) : `${bytesText(done)} of ${bytesText(total)}`;
  if (isQuick || !hasBars()) return work(() => {});
  return shown(new Bar(what, total), amount, bytesText, work);
}

/** Does work in steps while a bar tells how far it is. */
export function steps<Result>(
  what: string,
  total: number,
  work: (count: Count) => Promise<Result>,
): Promise<Result> {
  if (!hasBars()) return work(() => {});
  return shown(
    new Bar(what, total),
    () => "",
    () => "",
    work,
  );
}

/** A bar needs a terminal that moves its cursor. */
export const hasBars = (): boolean => process.stderr.isTTY === true && process.env.TERM !== "dumb";

async function shown<Result>(
  bar: Bar,
  amount: (done: number) => string,
  sum: (done: number) => string,
  work: (count: Count) => Promise<Result>,
): Promise<Result> {
  let last = 0;
  try {
    const result = await work((done, words) => bar.draw((last = done), words ?? amount(done)));
    bar.end(styled("green", "✔", process.stderr), sum(last));
    return result;
  } catch (error) {
    bar.end(styled("red", "✖", process.stderr), sum(last) && `stopped after ${sum(last)}`);
    throw error;
  }
}

/**
 * One line that is drawn over and over. The bars of @clack/prompts are none for a command: they read stdin, which may be what
 * is copied, and Ctrl-C in them is a success.
 */
class Bar {
  readonly #what: string;
  readonly #total: number | null;
  readonly #begun = performance.now();
  #drawnAt = -Infinity;

  constructor(what: string, total: number | null) {
    this.#what = plain(what);
    this.#total = total;
  }

  draw(done: number, words: string): void {
    const now = performance.now();
    if (now - this.#drawnAt < REDRAW_MS && done !== this.#total) return;
    this.#drawnAt = now;
    this.#write([this.#what, this.#line(done), words, this.#seconds()]);
  }

  end(mark: string, words: string): void {
    this.#write([mark, this.#what, words, this.#seconds()], "\n");
  }

  /** Writes the parts that fit the width of the terminal: a line that wraps is not drawn over. */
  #write(parts: readonly string[], end = ""): void {
    const [first = "", ...rest] = parts.filter(Boolean);
    let line = first;
    let width = plain(first).length;
    for (const part of rest) {
      width += 2 + plain(part).length;
      if (width < (process.stderr.columns || 80)) line += `  ${part}`;
    }
    process.stderr.write(`\r\u001b[K${line}${end}`);
  }

  #line(done: number): string {
    if (this.#total === null) return "";
    const part = Math.min(1, done / Math.max(1, this.#total));
    const full = Math.round(part * WIDTH);
    const bar = styled("cyan", "━".repeat(full), process.stderr);
    const rest = styled("dim", "─".repeat(WIDTH - full), process.stderr);
    return `${bar}${rest} ${String(Math.floor(part * 100)).padStart(3)} %`;
  }

  #seconds(): string {
    const seconds = Math.floor((performance.now() - this.#begun) / 1000);
    const text = seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
    return styled("dim", text, process.stderr);
  }
}
