import { RPC_CODES } from "@svc/contract/control-channel/rpc-error.ts";
import { type Answer, readAnswer } from "@svc/contract/control-channel/messages.ts";
import { OVERDUE_MAX, Overdue } from "@svc/contract/control-channel/overdue.ts";
import {
  type Method,
  type RequestContext,
  RpcServer,
} from "@svc/contract/control-channel/rpc-server.ts";
import { describe, expect, test } from "vitest";

/** A server whose methods `stuck` and `own` never look at their signal, with all that it sends. */
function serve(overdue = new Overdue()) {
  const contexts: RequestContext[] = [];
  const release: (() => void)[] = [];
  const sent: string[] = [];
  let wake: () => void = () => {};
  const run: Method["run"] = (_params, context) => {
    contexts.push(context);
    return new Promise((resolve) => release.push(() => resolve({ late: true })));
  };
  const methods = new Map<string, Method>([
    ["stuck", { run }],
    ["own", { run, keepsTime: true }],
    ["echo", { run: async (params) => Object(params) }],
  ]);
  const wire = {
    sendText: (text: string) => {
      sent.push(text);
      wake();
    },
    sendBinary: () => {},
    close: () => {},
    whenWritable: () => null,
  };
  const server = new RpcServer(wire, methods, { overdue });
  const say = (message: object): void =>
    server.text(Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message })));
  const answers = () =>
    sent.map((text) => readAnswer(JSON.parse(text))).filter((one) => one !== null);
  const answer = async (id: number): Promise<Answer> => {
    for (;;) {
      const found = answers().find((one) => one.id === id);
      if (found) return found;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  return { server, say, answer, answers, sent, contexts, release };
}

describe("a method that never returns", () => {
  test("is answered for at its deadline", async () => {
    const { say, answer } = serve();
    say({ id: 1, method: "stuck", params: { timeoutMs: 100 } });
    expect((await answer(1)).error?.code).toBe(RPC_CODES.timedOut);
  });

  test("is answered for when its request is cancelled", async () => {
    const { say, answer } = serve();
    say({ id: 1, method: "stuck" });
    say({ method: "rpc.cancel", params: { id: 1 } });
    expect((await answer(1)).error?.code).toBe(RPC_CODES.cancelled);
  });

  test("is answered for a while after its deadline where it keeps the time itself", async () => {
    const { say, answer, answers } = serve();
    say({ id: 1, method: "own", params: { timeoutMs: 100 } });
    say({ id: 2, method: "stuck", params: { timeoutMs: 100 } });
    await answer(2);
    expect(answers().some(({ id }) => id === 1)).toBe(false);
    expect((await answer(1)).error?.code).toBe(RPC_CODES.timedOut);
  }, 20_000);

  test("says nothing after its answer: no result, notification, credit or bytes", async () => {
    const { say, answer, sent, contexts, release } = serve();
    say({ id: 1, method: "stuck", params: { timeoutMs: 100 } });
    await answer(1);
    const [context] = contexts;
    context?.notify("late", {});
    expect(await context?.stream.write(1, Buffer.from("late"))).toBe(false);
    release[0]?.();
    say({ id: 2, method: "echo" });
    await answer(2);
    expect(sent).toHaveLength(2);
  });

  test("counts on all connections of a group until it ends, and the next request is Busy", async () => {
    const overdue = new Overdue();
    const first = serve(overdue);
    for (let id = 1; id <= OVERDUE_MAX; id += 1)
      first.say({ id, method: "stuck", params: { timeoutMs: 1 } });
    await first.answer(OVERDUE_MAX);
    first.server.closed();
    const second = serve(overdue);
    second.say({ id: 1, method: "echo" });
    expect((await second.answer(1)).error?.data).toEqual({ code: "Busy", retryable: true });
    for (const end of first.release) end();
    await new Promise(setImmediate);
    second.say({ id: 2, method: "echo", params: { a: 1 } });
    expect((await second.answer(2)).result).toEqual({ a: 1 });
  });
});
