import { LATE, inTime } from "@svc/host-kit/deadline.ts";

/** Waits for work on a browser. Rejects when the work takes longer than `ms`, or when the browser dies before it is done. */
export async function inBrowser<Result>(
  work: Promise<Result>,
  ms: number,
  died: Promise<void>,
): Promise<Result> {
  const failed = died.then(() => Promise.reject(new Error("the browser died")));
  const first = await inTime(Promise.race([work, failed]), ms);
  if (first === LATE) throw new Error("the browser took too long");
  return first;
}
