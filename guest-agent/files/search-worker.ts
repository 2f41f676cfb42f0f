import { parentPort, workerData } from "node:worker_threads";
import { Matcher, type Search, type SearchResult } from "./matcher.ts";

/** The one message of a search thread: the result, or the code of the error that ended the search. */
export type SearchReport = { found: SearchResult } | { code: string; message: string };

// The thread around has checked every part of it.
const search: Search = workerData;
parentPort?.postMessage(report());

function report(): SearchReport {
  try {
    return { found: new Matcher(search).run() };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return { code, message: String(error) };
  }
}
