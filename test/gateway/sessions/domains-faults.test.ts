import { SessionCreated } from "@svc/contract/browser/session.ts";
import { expect, onTestFinished, test, vi } from "vitest";
import { call, json, newOrg, newPool } from "../../support/worker/gateway.ts";

/** Breaks the one call to the host by which a list is replaced. */
function breakHost(answer: (signal: AbortSignal) => Promise<Response>): void {
  const real = globalThis.fetch;
  const spy = vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
    const isTheCall = input instanceof URL && input.pathname.endsWith("/allowed-domains");
    return isTheCall && init?.signal ? answer(init.signal) : real(input, init);
  });
  onTestFinished(() => spy.mockRestore());
}

const answers = (status: number) => () => Promise.resolve(new Response("odd", { status }));
const never = (signal: AbortSignal) =>
  new Promise<Response>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("given up")));
  });

/** The answer to a replacement whose call to the host comes to this. */
async function replaced(answer: (signal: AbortSignal) => Promise<Response>): Promise<Response> {
  const pool = await newPool();
  const idle = { idle: 9, busy: 0, recycling: 0 };
  await pool.beat({ kinds: { stealth: idle } });
  const { key } = await newOrg("professional");
  const wanted = json({ stealth: true, allowedDomains: ["a.example"] });
  const made = await call("/sessions", { ...wanted, bearer: key });
  const { sessionId } = SessionCreated.parse(await made.json());
  breakHost(answer);
  const init = { ...json({ domains: ["b.example"] }), bearer: key };
  return call(`/sessions/${sessionId}/allowed-domains`, init);
}

test.each([
  ["refuses it", answers(404)],
  ["fails", answers(500)],
  ["answers something odd", answers(202)],
  ["cannot be reached", () => Promise.reject(new Error("refused"))],
  ["never answers", never],
])("a list that the host %s is 503 PoolUnreachable and retryable", async (_name, answer) => {
  const response = await replaced(answer);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ code: "PoolUnreachable", retryable: true });
});

test("a list that the host says it never began to keep is 400: to try again is in vain", async () => {
  const response = await replaced(answers(409));
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    code: "ValidationError",
    error: expect.stringContaining("created without allowedDomains"),
  });
});
