import { StringDecoder } from "node:string_decoder";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import type { TemplateLogEntry } from "@svc/contract/vm/template.ts";
import { LineRate } from "./line-rate.ts";
import { splitLines } from "./split-lines.ts";

const { logLines, logCharacters, logLinesPerSecond, lineCharacters } = TEMPLATE_LIMITS;
const { pageLines, pageCharacters } = TEMPLATE_LIMITS;
/** Of lines that were left out, the last of a command are written all the same: they say how it ended. */
const LAST_LINES = 100;

type Source = TemplateLogEntry["stream"];

/** The log of a build: its newest lines, each with its place among all that there were. */
export class BuildLog {
  #entries: TemplateLogEntry[] = [];
  /** Where in `#entries` the oldest line is: those before it are dropped. */
  #oldest = 0;
  #characters = 0;
  /** Lines that are no longer in `#entries`. */
  #gone = 0;
  readonly #rate = new LineRate(performance.now());
  /** Lines of programs that the rate left out since the last line. */
  #leftOut = 0;
  /** The newest of them: a ring. */
  #last: TemplateLogEntry[] = [];
  /** When bytes of a program came last. */
  #ts = 0;
  readonly #waiting = new Set<() => void>();

  get end(): number {
    return this.#gone + this.#entries.length;
  }

  /** Writes a line of the build itself. A line that is too long is several. */
  write(step: number, stream: Source, text: string): void {
    for (const line of piecesOf(text)) this.#add({ ts: Date.now(), step, stream, line });
    this.wake();
  }

  /** Lines from a place on, or from the oldest that there is. */
  page(offset: number): { entries: TemplateLogEntry[]; nextOffset: number } {
    const first = this.#gone + this.#oldest;
    const from = Math.min(Math.max(offset, first), this.end);
    const at = from - this.#gone;
    const found = this.#entries.slice(at, at + pageLines);
    let characters = 0;
    const over = found.findIndex(({ line }) => (characters += line.length) > pageCharacters);
    const entries = over < 0 ? found : found.slice(0, Math.max(1, over));
    return { entries, nextOffset: from + entries.length };
  }

  /** Resolves when there is a new line or a new state, or after `ms`. */
  async changed(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }

  /** Something else than a line is new. */
  wake(): void {
    for (const resolve of this.#waiting) resolve();
  }

  /** Takes the bytes of a program and writes its lines; `end` writes what has no line's end. */
  lines(step: number, stream: Source) {
    const decoder = new StringDecoder("utf8");
    let rest = "";
    const offer = (line: string): void => this.#offer(step, stream, line);
    const take = (text: string): void => {
      this.#rate.pass(performance.now());
      this.#ts = Date.now();
      rest = splitLines(rest + text, offer);
      if (rest.length >= lineCharacters) {
        offer(rest);
        rest = "";
      }
      this.wake();
    };
    return {
      bytes: (bytes: Uint8Array) => take(decoder.write(Buffer.from(bytes))),
      end: () => {
        take(decoder.end());
        if (rest !== "") offer(rest.replace(/\r$/, ""));
        rest = "";
        this.#tellLeftOut(this.#lastLeftOut);
        this.wake();
      },
    };
  }

  /** Writes a line of a program, unless programs print too many. */
  #offer(step: number, stream: Source, text: string): void {
    if (text.length > lineCharacters) {
      for (const piece of piecesOf(text)) this.#offer(step, stream, piece);
    } else if (this.#rate.takes(text.length)) {
      this.#tellLeftOut([]);
      this.#add({ ts: Date.now(), step, stream, line: text });
    } else {
      this.#last[this.#leftOut % LAST_LINES] = { ts: this.#ts, step, stream, line: text };
      this.#leftOut += 1;
    }
  }

  /** The newest lines that were left out, in their order. */
  get #lastLeftOut(): TemplateLogEntry[] {
    const at = this.#leftOut < LAST_LINES ? 0 : this.#leftOut % LAST_LINES;
    return [...this.#last.slice(at), ...this.#last.slice(0, at)];
  }

  /** Says how many lines are missing, but for the last ones, which are written. */
  #tellLeftOut(last: TemplateLogEntry[]): void {
    if (this.#leftOut === 0) return;
    const missing = this.#leftOut - last.length;
    this.#leftOut = 0;
    this.#last = [];
    const step = this.#entries.at(-1)?.step ?? 0;
    const line = `${missing} lines were left out here: a log takes ${logLinesPerSecond} a second.`;
    if (missing > 0) this.#add({ ts: Date.now(), step, stream: "system", line });
    for (const entry of last) this.#add(entry);
  }

  #add(entry: TemplateLogEntry): void {
    // A copy: a part of a text keeps the whole text.
    const line = Buffer.from(entry.line, "utf16le").toString("utf16le");
    this.#entries.push({ ...entry, line });
    this.#characters += line.length;
    while (this.#entries.length - this.#oldest > logLines || this.#characters > logCharacters) {
      this.#characters -= this.#entries[this.#oldest]?.line.length ?? 0;
      this.#oldest += 1;
    }
    if (this.#oldest < logLines) return;
    this.#entries = this.#entries.slice(this.#oldest);
    this.#gone += this.#oldest;
    this.#oldest = 0;
  }
}

function piecesOf(text: string): string[] {
  if (text.length <= lineCharacters) return [text];
  const count = Math.ceil(text.length / lineCharacters);
  return Array.from({ length: count }, (_, at) =>
    text.slice(at * lineCharacters, (at + 1) * lineCharacters),
  );
}
