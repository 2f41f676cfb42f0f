import type { CodeResult, RunAnswer } from "./code-methods.ts";
import { ContractBreach } from "./rpc-error.ts";
import { RESULT_TYPES } from "./result-types.ts";

/** Fields in the order in which their parts come. */
const FIELDS: readonly string[] = [...Object.values(RESULT_TYPES), "charts"];
const TEXTS = ["text", "html", "markdown", "latex", "svg"];
const PICTURES = ["png", "jpeg"];
/** Parts that wait for their message: all results of a run, and their charts once more. */
const HELD_MAX_BYTES = 32 * 1024 * 1024;
const BASE64_STEP = 0x8000;

/** A result that is whole: pictures are base64, texts are strings, whatever way they came. */
export type WholeResult = { [Field in keyof CodeResult]: Whole<CodeResult[Field]> };
type Whole<Part> = Part extends { channel: 3 } ? never : Part;
/** The answer to a run with its results whole. */
export type WholeAnswer = Omit<RunAnswer, "results" | "charts"> & {
  results?: WholeResult[];
  charts?: unknown[];
};

/** The listener of a run hears all of it in the order in which the code made it, each byte and each result once. */
export interface RunListener {
  onOutput?: (channel: 1 | 2, bytes: Uint8Array) => void;
  onResult?: (result: WholeResult) => void;
  /** Output between these bytes is no longer kept. */
  onGap?: (from: number, to: number) => void;
}

/**
 * Puts together what a run of code sends, over as many connections as it takes (docs/CODE.md). For each connection: `begin`
 * with the request's id, then its bytes and notifications, then its answer. After a lost one `place` says where
 * `code.attach` goes on.
 */
export class RunReader {
  readonly #listener: RunListener;
  #request = 0;
  #run: string | null = null;
  #from = 0;
  #results = 0;
  #parts: Uint8Array[] = [];
  #heldBytes = 0;
  #breach: ContractBreach | null = null;

  constructor(listener: RunListener = {}) {
    this.#listener = listener;
  }

  /** Parameters of `code.attach`; null until the run has its id. */
  get place(): { run: string; from: number; results: number } | null {
    return this.#run === null ? null : { run: this.#run, from: this.#from, results: this.#results };
  }

  /** A request has been sent: `code.run`, or `code.attach` from `place` on. Parts of a result that was cut come again. */
  begin(request: number): void {
    this.#request = request;
    this.#parts = [];
    this.#heldBytes = 0;
  }

  /** Bytes of the request's stream. Throws `ContractBreach`, which ends the connection. */
  readonly bytes = (channel: number, bytes: Uint8Array): void => {
    if (this.#breach) throw this.#breach;
    if (channel === 3) this.#hold(bytes);
    else if (channel === 1 || channel === 2) {
      this.#from += bytes.length;
      if (bytes.length > 0) this.#listener.onOutput?.(channel, bytes);
    }
  };

  /** A notification of the connection. */
  heard(method: string, params: Record<string, unknown>): void {
    if (method === "rpc.gap") return this.#gap(params);
    if (params["id"] !== this.#request) return;
    if (method === "code.started") this.#run = String(params["run"]);
    if (method !== "code.result") return;
    const result = this.#whole(params["result"]);
    this.#results += 1;
    this.#listener.onResult?.(result as WholeResult);
  }

  /** The answer, with what came in parts put back. Throws `ContractBreach` where something of the run did not come. */
  answered({ results, charts, ...rest }: RunAnswer): WholeAnswer {
    const answer = {
      ...rest,
      ...(results && { results: results.map((result) => this.#whole(result) as WholeResult) }),
      ...(charts && { charts: this.#whole({ charts })["charts"] as unknown[] }),
    };
    if (this.#breach) throw this.#breach;
    return answer;
  }

  #gap({ stream, from, to }: Record<string, unknown>): void {
    if (stream !== this.#request || typeof to !== "number") return;
    this.#listener.onGap?.(typeof from === "number" ? from : this.#from, to);
    this.#from = to;
  }

  #hold(bytes: Uint8Array): void {
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > HELD_MAX_BYTES)
      throw (this.#breach = new ContractBreach("more parts of results than a run has"));
    this.#parts.push(bytes);
  }

  #whole(result: unknown): Record<string, unknown> {
    const whole: Record<string, unknown> = { ...Object(result) };
    for (const field of FIELDS) {
      const size = movedBytes(whole[field]);
      if (size === null) continue;
      const value = size <= this.#heldBytes ? valueOf(field, this.#take(size)) : undefined;
      if (value === undefined)
        this.#breach ??= new ContractBreach(`the ${field} of a result did not come whole`);
      else whole[field] = value;
    }
    return whole;
  }

  #take(size: number): Uint8Array {
    const taken = new Uint8Array(size);
    for (let at = 0; at < size;) {
      const [first = new Uint8Array()] = this.#parts;
      const step = first.subarray(0, size - at);
      taken.set(step, at);
      at += step.length;
      if (step.length === first.length) this.#parts.shift();
      else this.#parts[0] = first.subarray(step.length);
    }
    this.#heldBytes -= size;
    return taken;
  }
}

/** How many bytes stand for a value; null: the value is here. A value that looks so itself always comes in parts. */
export function movedBytes(value: unknown): number | null {
  if (typeof value !== "object" || value === null) return null;
  const { channel, bytes } = value as Record<string, unknown>;
  const isMoved = channel === 3 && typeof bytes === "number" && Object.keys(value).length === 2;
  return isMoved && Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : null;
}

/** Undefined: the bytes are no JSON. */
function valueOf(field: string, bytes: Uint8Array): unknown {
  if (PICTURES.includes(field)) return base64Of(bytes);
  const text = new TextDecoder().decode(bytes);
  if (TEXTS.includes(field)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += BASE64_STEP)
    text += String.fromCharCode(...bytes.subarray(at, at + BASE64_STEP));
  return btoa(text);
}
