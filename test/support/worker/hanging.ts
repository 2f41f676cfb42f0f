import { runInDurableObject } from "cloudflare:test";
import { onTestFinished, vi } from "vitest";

const lookMs = 20;

/** Lets an object answer nobody, as one that is stuck, until the answered function is called, or the test is over. */
export async function hang(stub: DurableObjectStub): Promise<() => Promise<void>> {
  let isOver = false;
  let hasBegun = false;
  const hanging = runInDurableObject(stub, (_object, state) =>
    state.blockConcurrencyWhile(async () => {
      hasBegun = true;
      while (!isOver) await scheduler.wait(lookMs);
    }),
  );
  // A promise that the object resolves would take the test into the object's own context.
  await vi.waitUntil(() => hasBegun, { timeout: 60_000, interval: lookMs });
  const end = (): Promise<void> => {
    isOver = true;
    return hanging;
  };
  onTestFinished(end);
  return end;
}
