import { RESULT_TYPES } from "@svc/contract/control-channel/result-types.ts";
import { CodeResult } from "@svc/contract/control-channel/code-methods.ts";
import { ContractBreach } from "@svc/contract/control-channel/rpc-error.ts";
import { RunReader, type WholeResult } from "@svc/contract/control-channel/run-reader.ts";
import { fit } from "@svc/guest-agent/code/results.ts";
import { describe, expect, test } from "vitest";

const picture = Buffer.from(Array.from({ length: 3_001 }, (_, at) => (at * 7) % 256));
const shown: CodeResult[] = [
  // Not in the order of the contract.
  { png: picture.toString("base64"), text: "größe".repeat(400), json: { deep: [1, null, "é"] } },
  { json: { channel: 3, bytes: 5 }, html: "<b>".repeat(300) },
  {
    chart: { type: "line", elements: Array(200).fill({ x: 1 }) },
    svg: `<svg>${"x".repeat(999)}</svg>`,
  },
  { text: "small" },
];
const charts = shown.flatMap(({ chart }) => (chart === undefined ? [] : [chart]));

/** Bytes as frames may cut them: every so many. */
function* cut(parts: readonly Buffer[], size: number): Generator<Buffer> {
  const whole = Buffer.concat(parts);
  for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size);
}

describe("what the agent sends in parts", () => {
  test.each([
    [0, 1],
    [0, 1_000],
    [0, 65_536],
    [3_000, 7],
    [1_000_000, 1],
  ])("of an answer with room for %d bytes, in frames of %d, is put together", (room, size) => {
    const { results, parts } = fit([...shown, { charts }], room);
    const reader = new RunReader();
    reader.begin(1);
    for (const bytes of cut(parts, size)) reader.bytes(3, bytes);
    const last = results.pop();
    const rest = { run: "run_a", context: "default", executionCount: 1 };
    expect(reader.answered({ ...rest, results, ...last })).toEqual({
      ...rest,
      results: shown,
      charts,
    });
  });

  test("of results that come one by one is put together, each once", () => {
    const told: WholeResult[] = [];
    const reader = new RunReader({ onResult: (result) => told.push(result) });
    reader.begin(7);
    reader.heard("code.started", { id: 7, run: "run_a", context: "default" });
    for (const result of shown) {
      const { results, parts } = fit([result], 0);
      for (const bytes of cut(parts, 100)) reader.bytes(3, bytes);
      reader.heard("code.result", { id: 7, result: results[0] });
      reader.heard("code.result", { id: 8, result: { text: "of another request" } });
    }
    expect(told).toEqual(shown);
    expect(reader.place).toEqual({ run: "run_a", from: 0, results: shown.length });
  });
});

test("after a lost connection a reader goes on where it was, and forgets half a result", () => {
  const heard: string[] = [];
  const reader = new RunReader({
    onOutput: (channel, bytes) => heard.push(`${channel} ${Buffer.from(bytes).toString()}`),
    onResult: ({ text = "" }) => heard.push(`result ${text}`),
    onGap: (from, to) => heard.push(`gap ${from} ${to}`),
  });
  reader.begin(1);
  expect(reader.place).toBeNull();
  reader.heard("code.started", { id: 1, run: "run_a", context: "default" });
  reader.bytes(1, Buffer.from("one"));
  reader.bytes(3, Buffer.from("half of a res"));
  reader.begin(2);
  expect(reader.place).toEqual({ run: "run_a", from: 3, results: 0 });
  reader.heard("rpc.gap", { stream: 2, from: 3, to: 10 });
  reader.bytes(3, Buffer.from("whole"));
  reader.heard("code.result", { id: 2, result: { text: { channel: 3, bytes: 5 } } });
  reader.bytes(2, Buffer.from("err"));
  reader.bytes(2, Buffer.alloc(0));
  expect(heard).toEqual(["1 one", "gap 3 10", "result whole", "2 err"]);
  expect(reader.place).toEqual({ run: "run_a", from: 13, results: 1 });
});

test("a reader breaks off with a guest that sends more parts than a run has, or fewer than it said", () => {
  const flooded = new RunReader();
  const flood = () => {
    for (let round = 0; round < 1_000; round += 1) flooded.bytes(3, new Uint8Array(65_536));
  };
  expect(flood).toThrow(ContractBreach);
  const starved = new RunReader();
  starved.begin(1);
  starved.bytes(3, new Uint8Array(4));
  starved.heard("code.result", { id: 1, result: { png: { channel: 3, bytes: 5 } } });
  expect(() => starved.bytes(3, new Uint8Array(1))).toThrow(ContractBreach);
  const broken = new RunReader();
  broken.begin(1);
  broken.bytes(3, Buffer.from("no JSON"));
  broken.heard("code.result", { id: 1, result: { json: { channel: 3, bytes: 7 } } });
  const answer = { run: "run_a", context: "default", executionCount: 1 };
  expect(() => broken.answered(answer)).toThrow(ContractBreach);
  expect(() => starved.answered(answer)).toThrow(ContractBreach);
});

test("every field of a result has its type and its place in the order", () => {
  const fields: string[] = Object.values(RESULT_TYPES);
  expect(fields.toSorted()).toEqual(
    Object.keys(CodeResult.shape)
      .filter((field) => field !== "truncated")
      .toSorted(),
  );
});
