import { CdpError } from "@svc/sdk/cdp.ts";
import { TimeoutError } from "@svc/sdk/errors.ts";
import { ToolError } from "../tool.ts";
import type { Evaluated, RemoteObject } from "./attached.ts";
import type { Page } from "./page.ts";

/** The value of an expression, as a text. */
export interface Outcome {
  type: string;
  text: string;
  truncated: boolean;
}

interface Bounds {
  timeoutMs: number;
  maxChars: number;
}

/** Largest value that is copied as JSON, in characters. */
const PLAIN_LENGTH = 2_000_000;
const MESSAGE_LENGTH = 3_000;
/** Extra time for the browser, which ends an expression that runs too long by itself. */
const GRACE_MS = 500;
const HOLDER = "svc_evaluate";

/**
 * Measures the value that `this` holds: a text is cut, of other values it tells whether they are small enough to be copied.
 * The function runs in the page's own world: it is made of syntax alone, and of nothing that a page can replace.
 */
const MEASURE = `function(most, budget) {
  const value = this.v;
  if (typeof value === "string") {
    if (value.length <= most) return { text: value, total: value.length };
    let text = "";
    for (let at = 0; at < most; at++) text += value[at];
    return { text, total: value.length };
  }
  let left = budget, levels = 0;
  const weigh = (one) => {
    if (typeof one === "string") left -= one.length;
    left -= 10;
    if (left < 0 || one === null || typeof one !== "object" || levels > 100) return;
    levels++;
    for (const name in one) {
      left -= name.length;
      if (left < 0) break;
      weigh(one[name]);
    }
    levels--;
  };
  weigh(value);
  return { isLarge: left < 0 };
}`;
const VALUE = "function() { return this.v; }";

interface Measured {
  text?: string;
  total?: number;
  isLarge?: boolean;
}

/** Evaluates an expression in the page's own world, and waits for what it promises. */
export async function evaluate(page: Page, expression: string, bounds: Bounds): Promise<Outcome> {
  const late = performance.now() + bounds.timeoutMs;
  const leftMs = (): number => Math.max(100, late - performance.now());
  try {
    const holder = await hold(page, expression, leftMs);
    return "objectId" in holder
      ? await outcomeOf(page, holder.objectId, bounds, leftMs)
      : described(holder.result, bounds.maxChars);
  } catch (error) {
    // The browser's own end of an expression comes as a CdpError.
    const isEnded = error instanceof CdpError && performance.now() >= late;
    if (!(error instanceof TimeoutError) && !isEnded) throw error;
    // Nobody waits for the answer: a page that is not busy has nothing to end.
    page.attached.send("Runtime.terminateExecution", {}, GRACE_MS).catch(() => {});
    throw timeout(bounds.timeoutMs);
  }
}

/** Evaluates, and has the page hold the value: it may be too large to be answered. */
async function hold(
  page: Page,
  expression: string,
  leftMs: () => number,
): Promise<{ objectId: string } | { result: RemoteObject }> {
  const bare = expression.trim().replace(/;+$/, "");
  const forms = [`(async () => ({ v: await (\n${bare}\n) }))()`];
  // Statements with a `return` are a function's; others have the value of the last of them, as eval has it.
  if (/\breturn\b/.test(bare))
    forms.push(`(async () => ({ v: await (async () => {\n${expression}\n})() }))()`);
  // An `eval` awaits nothing by itself.
  if (!/\bawait\b/.test(bare))
    forms.push(`(async () => ({ v: await eval(${JSON.stringify(expression)}) }))()`);
  for (const form of forms) {
    const answer = await run(page, { expression: form }, leftMs);
    if (isMisspelt(answer)) continue;
    const { objectId } = thrown(answer).result;
    if (objectId !== undefined) return { objectId };
  }
  return thrown(await run(page, { expression, replMode: true }, leftMs));
}

/** Whether nothing has run, as the form is no JavaScript: errors that an async function throws are said to be in a promise. */
function isMisspelt({ exceptionDetails }: Evaluated): boolean {
  const { text = "", exception } = exceptionDetails ?? {};
  return exception?.className === "SyntaxError" && !text.includes("in promise");
}

async function run(page: Page, params: object, leftMs: () => number): Promise<Evaluated> {
  const timeout = leftMs();
  return (await page.attached.send(
    "Runtime.evaluate",
    { ...params, timeout, awaitPromise: true, userGesture: true, objectGroup: HOLDER },
    timeout + GRACE_MS,
  )) as unknown as Evaluated;
}

async function outcomeOf(
  page: Page,
  objectId: string,
  { maxChars }: Bounds,
  leftMs: () => number,
): Promise<Outcome> {
  const ask = async (functionDeclaration: string, returnByValue: boolean, args: number[] = []) => {
    const values = args.map((value) => ({ value }));
    const params = { objectId, functionDeclaration, returnByValue, arguments: values };
    const answer = await page.attached.send("Runtime.callFunctionOn", params, leftMs());
    return thrown(answer as unknown as Evaluated).result;
  };
  const measured = (await ask(MEASURE, true, [maxChars, PLAIN_LENGTH])).value as Measured;
  if (measured.text !== undefined)
    return { type: "string", text: measured.text, truncated: (measured.total ?? 0) > maxChars };
  const result = await ask(VALUE, false);
  const isPlain = result.type === "object" && [undefined, "array"].includes(result.subtype);
  if (!isPlain || measured.isLarge) return described(result, maxChars, measured.isLarge);
  const { value } = await ask(VALUE, true);
  return cut(result.subtype ?? result.type, JSON.stringify(value, null, 1) ?? "", maxChars);
}

function described(result: RemoteObject, maxChars: number, isLarge = false): Outcome {
  const { type, subtype, value, unserializableValue, description } = result;
  const plain =
    typeof value === "string" ? value : value === undefined ? undefined : JSON.stringify(value);
  const text = plain ?? unserializableValue ?? description ?? type;
  const outcome = cut(subtype ?? type, text, maxChars);
  return isLarge ? { ...outcome, truncated: true } : outcome;
}

const cut = (type: string, text: string, maxChars: number): Outcome => ({
  type,
  text: text.slice(0, maxChars),
  truncated: text.length > maxChars,
});

function thrown(answer: Evaluated): Evaluated {
  const { exceptionDetails } = answer;
  if (!exceptionDetails) return answer;
  const { text, exception } = exceptionDetails;
  const value = exception?.value === undefined ? undefined : JSON.stringify(exception.value);
  const words = exception?.description ?? value ?? text;
  if (/^(Internal: )?Execution was terminated/i.test(words)) throw new TimeoutError(words);
  throw new ToolError(
    "EvaluationFailed",
    `The expression threw: ${words.slice(0, MESSAGE_LENGTH)}`,
  );
}

const timeout = (ms: number): ToolError =>
  new ToolError(
    "Timeout",
    `The expression took longer than ${ms / 1000} s and was stopped; what it has done stays done. Ask for less, or give a longer timeoutSeconds (up to 120).`,
  );
