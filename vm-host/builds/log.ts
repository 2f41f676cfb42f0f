import { StringDecoder } from "node:string_decoder";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import type { TemplateLogEntry } from "@svc/contract/vm/template.ts";

const { logLines, lineCharacters, pageLines } = TEMPLATE_LIMITS;

/** The log of a build: its newest lines, each with its place among all that there were. */
export class BuildLog {
  #entries: TemplateLogEntry[] = [];
  /** Lines that are no longer kept. */
  #dropped = 0;
  readonly #waiting = new Set<() => void>();

  get end(): number {
    return this.#dropped + this.#entries.length;
  }

  write(step: number, stream: TemplateLogEntry["stream"], text: string): void {
    // A line that is too long is several.
    for (let at = 0; at === 0 || at < text.length; at += lineCharacters)
      this.#entries.push({
        ts: Date.now(),
        step,
        stream,
        line: text.slice(at, at + lineCharacters),
      });
    const over = this.#entries.length - logLines;
    if (over > 0) {
      this.#entries = this.#entries.slice(over);
      this.#dropped += over;
    }
    this.wake();
  }

  /** Lines from a place on, or from the oldest that there is. */
  page(offset: number): { entries: TemplateLogEntry[]; nextOffset: number } {
    const from = Math.min(Math.max(offset, this.#dropped), this.end);
    const entries = this.#entries.slice(from - this.#dropped, from - this.#dropped + pageLines);
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

  /** Takes the bytes of a stream and writes its lines; `end` writes what has no line's end. */
  lines(step: number, stream: TemplateLogEntry["stream"]) {
    const decoder = new StringDecoder("utf8");
    let rest = "";
    const take = (text: string): void => {
      // What draws over its line, a bar of progress, ends it too.
      const parts = (rest + text).split(/\r\n|\n|\r(?!$)/);
      rest = parts.pop() ?? "";
      for (const line of parts) this.write(step, stream, line);
      if (rest.length < lineCharacters) return;
      this.write(step, stream, rest);
      rest = "";
    };
    return {
      bytes: (bytes: Uint8Array) => take(decoder.write(Buffer.from(bytes))),
      end: () => {
        take(decoder.end());
        if (rest !== "") this.write(step, stream, rest.replace(/\r$/, ""));
        rest = "";
      },
    };
  }
}
