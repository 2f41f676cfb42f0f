import { readSessionId, readVmId } from "@svc/contract/tokens.ts";
import type { Subject, Turns } from "@svc/mcp/turns.ts";
import { handoffActive, sessionBusy } from "@svc/mcp/turns.ts";
import { tried } from "../../durable-objects/live/tried.ts";
import type { AppContext } from "../context.ts";
import { reach } from "../objects.ts";

/** The order of calls on a session, which the session's object keeps for the calls of all Workers. */
export const turnsOf = (c: AppContext): Turns => ({
  async take(subject, { lastsMs, signal }) {
    const object = await objectOf(c, subject);
    signal.throwIfAborted();
    // The route that the tool asks refuses a session that is not the caller's.
    if (!object) return () => {};
    const id = crypto.randomUUID();
    const end = (): void => c.executionCtx.waitUntil(tried("turn_not_ended", object.endTurn(id)));
    signal.addEventListener("abort", end, { once: true });
    const giveBack = (): void => {
      signal.removeEventListener("abort", end);
      end();
    };
    const answer = await reach(() => object.takeTurn(id, lastsMs)).catch((error: unknown) => {
      // The object may have noted the turn although its answer is lost.
      giveBack();
      throw error;
    });
    if (answer === "handoff") throw handoffActive();
    if (answer !== "taken") throw sessionBusy();
    return giveBack;
  },
});

interface TurnKeeper {
  takeTurn(id: string, lastsMs: number): Promise<"taken" | "over" | "crowded" | "handoff">;
  endTurn(id: string): Promise<void>;
}

async function objectOf(c: AppContext, { kind, id }: Subject): Promise<TurnKeeper | null> {
  const read = kind === "browser" ? readSessionId : readVmId;
  const claims = await read(c.env.SVC_SIGNING_SECRET, id);
  if (claims?.org !== c.get("caller").orgId) return null;
  return kind === "browser" ? c.env.SESSIONS.getByName(id) : c.env.SANDBOXES.getByName(id);
}
