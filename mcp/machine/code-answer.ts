import type { CodeAnswer, CodeResult } from "@svc/sdk/channel/code.ts";
import { PICTURE_BASE64 } from "../answer.ts";
import type { Block, ToolResult } from "../tool.ts";
import { clip } from "./clipped-text.ts";

/** Pictures of one answer: so many, and so much base64 together. */
const PICTURES_MOST = 10;
const PICTURES_BASE64 = 2_000_000;
/** Characters of all results of one answer, of all its charts as JSON, and of a traceback. */
const RESULTS_CHARACTERS = 20_000;
const CHARTS_CHARACTERS = 20_000;
const TRACEBACK_CHARACTERS = 6_000;

/** Forms that say a result in words, the best first: a model reads one of them. */
const WORDS = ["text", "markdown", "latex", "json", "html", "svg"] as const;

const FEWER = "save it to a file, and use svc_read_file";

/** The outcome of a run in the size of an answer, which says what is left out. */
export function codeAnswer(
  answer: CodeAnswer,
  output: { stdout: string; stderr: string; truncated: boolean },
): ToolResult {
  const shown = new Shown();
  const results = answer.results.map((result) => shown.result(result));
  const charts = shown.charts(answer.charts);
  const { error, executionCount, exitCode, timedOut, restarted, lostBytes } = answer;
  return {
    json: {
      ...output,
      truncated: output.truncated || answer.truncated === true,
      results,
      charts,
      ...(error && { error: { ...error, traceback: tracebackOf(error.traceback) } }),
      executionCount,
      ...(exitCode !== undefined && { exitCode }),
      ...(timedOut && { timedOut }),
      ...(restarted !== undefined && { restarted }),
      ...(lostBytes !== undefined && { lostBytes }),
      ...(shown.left().length > 0 && { omitted: shown.left() }),
    },
    blocks: shown.pictures,
  };
}

/** The results of a run that fit into an answer. */
class Shown {
  readonly pictures: Block[] = [];
  readonly #omitted: string[] = [];
  #unsaid = 0;
  #base64Left = PICTURES_BASE64;
  #charactersLeft = RESULTS_CHARACTERS;

  /** A line for each thing that is left out. */
  left(): string[] {
    const unsaid = `the words of ${this.#unsaid} results: print what matters`;
    return [...this.#omitted, ...(this.#unsaid > 0 ? [unsaid] : [])];
  }

  /** A result in one form of words, and with the number of its picture. */
  result(result: CodeResult): Record<string, unknown> {
    const known = WORDS.find((name) => result[name] !== undefined);
    const form = this.#charactersLeft > 0 ? known : undefined;
    if (known !== form) this.#unsaid += 1;
    const picture = this.#picture(result);
    return {
      ...(form !== undefined && { [form]: this.#words(result[form]) }),
      ...(picture !== null && { picture }),
      ...(result.truncated && { truncated: true }),
    };
  }

  /** Charts as numbers, as long as there is room; those beyond it without their elements. */
  charts(charts: readonly unknown[]): unknown[] {
    let left = CHARTS_CHARACTERS;
    return charts.map((chart, at) => {
      const size = JSON.stringify(chart).length;
      left -= size;
      if (left >= 0) return chart;
      left += size;
      this.#omitted.push(`the elements of chart ${at + 1}: ${size} characters; print what matters`);
      return { ...(chart as object), elements: [] };
    });
  }

  #words(value: unknown): string {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const words = clip(text, this.#charactersLeft);
    this.#charactersLeft -= words.length;
    return words;
  }

  /** The number of a result's picture among those that are shown. */
  #picture({ png, jpeg }: CodeResult): number | null {
    const data = png ?? jpeg;
    if (data === undefined) return null;
    const isFull = this.pictures.length >= PICTURES_MOST || data.length > this.#base64Left;
    if (isFull || data.length > PICTURE_BASE64) {
      this.#omitted.push(`a picture of ${data.length} characters of base64: ${FEWER}`);
      return null;
    }
    this.#base64Left -= data.length;
    const mimeType = png === undefined ? "image/jpeg" : "image/png";
    return this.pictures.push({ type: "image", data, mimeType });
  }
}

/** A traceback without the colours of a terminal, clipped. */
const tracebackOf = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  clip(text.replaceAll(/\u001b\[[\d;]*m/g, ""), TRACEBACK_CHARACTERS);
