// How a Worker asks a session's object for a turn, and gives it back.
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { turnsOf } from "../../../src/mcp/turns.ts";
import { placed } from "../../support/worker/session.ts";

const { id, orgId } = await placed();

/** Asks an object of the test's own for a turn. */
function asked(answer: () => Promise<"taken">) {
  const object = {
    takeTurn: vi.fn<(turn: string) => Promise<"taken">>(answer),
    endTurn: vi.fn<(turn: string) => Promise<void>>(async () => {}),
  };
  const context = {
    env: { ...env, SESSIONS: { getByName: () => object } },
    executionCtx: createExecutionContext(),
    get: () => ({ orgId }),
  };
  const abort = new AbortController();
  const limits = { lastsMs: 600_000, signal: abort.signal };
  const taking = turnsOf(context as never).take({ kind: "browser", id }, limits);
  taking.catch(() => {});
  return { object, abort, taking };
}

test("a turn is given back once, when the call is over", async () => {
  const { object, abort, taking } = asked(async () => "taken");
  const end = await taking;
  expect(object.endTurn).not.toHaveBeenCalled();
  end();
  abort.abort();
  expect(object.endTurn.mock.calls).toEqual([[object.takeTurn.mock.calls[0]?.[0]]]);
});

test("a call that is given up before it has asked for its turn asks for none", async () => {
  const { object, abort, taking } = asked(async () => "taken");
  abort.abort(new Error("given up"));
  await expect(taking).rejects.toThrow("given up");
  expect(object.takeTurn).not.toHaveBeenCalled();
});

test("a turn whose answer is lost is given back: the object may have noted it", async () => {
  const { object, taking } = asked(() => Promise.reject(new Error("Network connection lost.")));
  await expect(taking).rejects.toMatchObject({ code: "ObjectUnavailable" });
  expect(object.endTurn.mock.calls).toEqual([[object.takeTurn.mock.calls[0]?.[0]]]);
});
