import { refuse } from "@svc/contract/control-channel/refusals.ts";
import { RPC_CODES, RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import { Worker } from "node:worker_threads";
import type { Search, SearchResult } from "./matcher.ts";
import type { SearchReport } from "./search-worker.ts";
import { Turns } from "./turns.ts";

/** Set by scripts/bundle-agent.ts. */
declare const SEARCH_WORKER: string | undefined;

/** Threads that search at once: a machine has few processors, and each may hold a file of 8 MiB. */
const SEARCHES_MAX = 2;
/** A search that names no time ends after this one: a pattern may backtrack for ever. */
const SEARCH_MS = 120_000;
const HEAP_MB = 96;
/** The program of the threads: the agent's bundle has it inside. */
const WORKER = new URL(
  typeof SEARCH_WORKER === "undefined"
    ? import.meta.resolve("./search-worker.ts")
    : `data:text/javascript,${encodeURIComponent(SEARCH_WORKER)}`,
);

const turns = new Turns(SEARCHES_MAX);

/** Searches in a thread of its own, which ends with the request: nothing in a search can hold the agent. */
export async function search(asked: Search, signal: AbortSignal): Promise<SearchResult> {
  checkPattern(asked.regex);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(tooLong()), SEARCH_MS);
  const ended = AbortSignal.any([signal, late.signal]);
  try {
    await turns.take(ended);
    return await inThread(asked, ended).finally(() => turns.give());
  } finally {
    clearTimeout(timer);
  }
}

async function inThread(search: Search, signal: AbortSignal): Promise<SearchResult> {
  const { promise, resolve, reject } = Promise.withResolvers<SearchReport>();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const limits = { maxOldGenerationSizeMb: HEAP_MB };
  const worker = new Worker(WORKER, { workerData: search, resourceLimits: limits });
  worker.once("message", resolve);
  worker.once("error", (error) => reject(endedBy(error)));
  worker.once("exit", () => reject(new Error("the search thread ended without a word")));
  try {
    const report = await promise;
    if ("found" in report) return report.found;
    throw Object.assign(new Error(report.message), { code: report.code });
  } finally {
    signal.removeEventListener("abort", stop);
    // Also in the middle of a pattern. A turn is free only when its thread is.
    await worker.terminate();
  }
}

function checkPattern(regex: string | undefined): void {
  try {
    if (regex !== undefined) new RegExp(regex, "u");
  } catch (error) {
    const message = error instanceof Error ? error.message : "";
    throw new RpcError(RPC_CODES.params, `regex: ${message}`, { field: "regex" });
  }
}

function endedBy(error: unknown): unknown {
  const isMemory = error instanceof Error && "code" in error && /MEMORY/.test(String(error.code));
  if (!isMemory) return error;
  return refuse("TooLarge", "The search takes too much memory: search a part, or ask for less.");
}

function tooLong(): RpcError {
  const text = `The search took longer than ${SEARCH_MS} ms: search a part, or use a simpler pattern.`;
  return new RpcError(RPC_CODES.timedOut, text);
}
