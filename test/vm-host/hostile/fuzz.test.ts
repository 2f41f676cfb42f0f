import { setImmediate } from "node:timers/promises";
import { FIRST_SYNC_WORD, answerTo } from "@svc/contract/control-channel/sync-word.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Vm } from "../../../vm-host/machines/vm.ts";
import type { AgentCall, TestAgent } from "./agent.ts";
import { Bed, keptBytes } from "./bed.ts";
import { STREAMS, numberOf } from "./cases.ts";
import { type Below, forgedWords, random, rubbish } from "./forgery.ts";

const AT_ONCE = 16;
const MINUTE = 60_000;
const SECOND = 1_000;
/** How many cases, by the stream. */
const CASES: readonly [stream: string, cases: number][] = [
  ["preview", 3_000],
  ["exec", 2_000],
  ["file", 2_000],
  ["watch", 1_000],
  ["pty", 1_000],
  ["share", 1_000],
];

const SUM = CASES.reduce((sum, [, cases]) => sum + cases, 0);

let bed: Bed;
let vm: Vm;
let agent: TestAgent;

/** A case under way: what ends it, and what the agent has yet to say in it. */
interface Case {
  over: AbortController;
  words: Promise<void>[];
}
const underWay = new Map<number, Case>();
const escaped: unknown[] = [];
const escape = (error: unknown): void => void escaped.push(error);

beforeAll(async () => {
  process.on("uncaughtExceptionMonitor", escape);
  process.on("unhandledRejection", escape);
  bed = await Bed.start();
  ({ agent, vm } = await bed.machine("hostile"));
  const quiet = await bed.machine("quiet");
  quiet.agent.conduct = ({ port, connection, id }) =>
    void port.text(connection, { id, result: { exitCode: 7 } });
});
afterEach(() => expect(escaped).toEqual([]));
afterAll(() => {
  expect(SUM).toBe(10_000);
  bed.close();
  process.off("uncaughtExceptionMonitor", escape);
  process.off("unhandledRejection", escape);
});

/** The agent says what comes to its mind, and then mostly that it has failed. */
async function misbehave(below: Below, call: AgentCall): Promise<void> {
  const { port, connection, id, method } = call;
  if (method === "shares.dial" && below(2) === 0) insideShare(below, call);
  if (method === "ports.dial" && below(4) > 0)
    await port.text(connection, { method: "ports.connected", params: { id } });
  await port.write(forgedWords(below, call));
  if (below(50) === 0) await Promise.all([port.write(rubbish(below)), port.begin()]);
  const error = { code: -32_000, message: "no more" };
  if (below(10) > 0) await port.text(connection, { id, error });
}

/** The agent of a share answers, and forges what a share may say. */
function insideShare(below: Below, { port, connection, id }: AgentCall): void {
  void port.bytes(connection, id, answerTo(FIRST_SYNC_WORD));
  const words = forgedWords(below, { connection: 0, id: 1 });
  void port.bytes(connection, id, words.subarray(0, 60_000));
}

async function oneCase(stream: string, number: number): Promise<void> {
  const one: Case = { over: new AbortController(), words: [] };
  underWay.set(number, one);
  await STREAMS[stream]?.(bed, vm, number, one.over.signal).catch(() => null);
  // The host reads from a hostile machine slowly: else what was not read yet would count as held.
  await Promise.all(one.words);
  underWay.delete(number);
}

async function conduct(call: AgentCall): Promise<void> {
  const number = numberOf(call.params);
  await misbehave(random(number), call);
  await setImmediate();
  underWay.get(number)?.over.abort();
}

/** The neighbour asks all the time, until it is stopped. */
async function neighbour(stop: AbortSignal): Promise<{ answers: number; longestMs: number }> {
  let [answers, longestMs] = [0, 0];
  for (; !stop.aborted; answers += 1) {
    const began = performance.now();
    const response = await bed.exec("quiet", "true");
    expect(await response.json()).toMatchObject({ exitCode: 7 });
    longestMs = Math.max(longestMs, performance.now() - began);
    await setImmediate();
  }
  return { answers, longestMs };
}

test.each(CASES)(
  "%s: %i cases of a hostile agent",
  async (stream, cases) => {
    agent.conduct = (call) => void underWay.get(numberOf(call.params))?.words.push(conduct(call));
    const before = await keptBytes();
    const stop = new AbortController();
    const asking = neighbour(stop.signal);
    let [number, done, mostBytes] = [0, 0, 0];
    const worker = async (): Promise<void> => {
      while (number < cases) {
        number += 1;
        await oneCase(stream, number);
        done += 1;
        if (done % 500 === 0) mostBytes = Math.max(mostBytes, (await keptBytes()) - before);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    stop.abort();
    const { answers, longestMs } = await asking;
    expect(done).toBe(cases);
    expect(answers).toBeGreaterThan(0);
    expect(longestMs).toBeLessThan(20 * SECOND);
    expect(mostBytes).toBeLessThan(LIMITS.machineHeldBytes);
    const mib = Math.round(mostBytes / 2 ** 20);
    console.info(
      `${stream}: ${done} cases; ${answers} answers of a neighbour, ${longestMs.toFixed()} ms at most; ${mib} MiB`,
    );
  },
  6 * MINUTE,
);
