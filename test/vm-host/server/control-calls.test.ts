import { expect, test } from "vitest";
import { MachineUse } from "../../../vm-host/machines/use.ts";
import { ControlCalls } from "../../../vm-host/server/control-calls.ts";

function opened() {
  const use = new MachineUse();
  let inFlight = 0;
  const vm = {
    isParked: false,
    touch: () => use.note(),
    begin: () => {
      const over = use.begin();
      inFlight += 1;
      return () => {
        inFlight -= 1;
        over();
      };
    },
  };
  const said: string[] = [];
  const calls = new ControlCalls(vm, (text) => said.push(text));
  const bytes = (message: object | string) =>
    Buffer.from(
      typeof message === "string" ? message : JSON.stringify({ jsonrpc: "2.0", ...message }),
    );
  return {
    vm,
    use,
    said,
    calls,
    inFlight: () => inFlight,
    ask: (message: object | string) => calls.fromClient(bytes(message)),
    answer: (message: object | string) => calls.fromGuest(bytes(message)),
  };
}

const pong = (id: number): string => JSON.stringify({ jsonrpc: "2.0", id, result: {} });

test("a request is work in flight until it is answered, with a result or an error", () => {
  const { ask, answer, inFlight } = opened();
  expect(ask({ id: 1, method: "commands.run", params: { cmd: "make" } })).toBe(true);
  expect(ask({ id: 2, method: "commands.attach", params: { id: "proc_1" } })).toBe(true);
  expect(inFlight()).toBe(2);
  expect(answer({ id: 1, result: { exitCode: 0 } })).toBe(true);
  expect(answer({ id: 2, error: { code: -32_800, message: "cancelled" } })).toBe(true);
  expect(inFlight()).toBe(0);
});

test("requests of a socket that has ended are over, and an id that is used twice is one request", () => {
  const { ask, calls, inFlight } = opened();
  for (const id of [1, 1, 2]) ask({ id, method: "commands.run" });
  expect(inFlight()).toBe(2);
  calls.end();
  expect(inFlight()).toBe(0);
});

test.each([
  ["a terminal", { id: 3, method: "pty.attach", params: { id: "pty_1" } }],
  ["a watch", { id: 3, method: "files.watch", params: { path: "/root" } }],
  ["a notification", { method: "rpc.cancel", params: { id: 3 } }],
  ["what is no message", "{"],
])("%s is a use when it is asked for, and no work in flight", (_name, message) => {
  const { ask, use, inFlight } = opened();
  const { count } = use;
  expect(ask(message)).toBe(true);
  expect([use.count, inFlight()]).toEqual([count + 1, 0]);
});

test.each([
  ["rpc.ping", { id: 4, method: "rpc.ping" }],
  ["rpc.credit", { method: "rpc.credit", params: { stream: 1, bytes: 10 } }],
])("%s is no use, in whatever order its parts come", (_name, message) => {
  const { ask, use } = opened();
  const { count } = use;
  expect(ask(message)).toBe(true);
  expect(ask(JSON.stringify({ params: {}, ...message, jsonrpc: "2.0" }))).toBe(true);
  expect(use.count).toBe(count);
});

test("what the machine tells is a use, its hello, credit and pongs are none", () => {
  const { ask, answer, use } = opened();
  ask({ id: 5, method: "rpc.ping" });
  const { count } = use;
  answer({ method: "rpc.hello", params: {} });
  answer({ method: "rpc.credit", params: { stream: 1, bytes: 10 } });
  answer({ id: 5, result: {} });
  expect(use.count).toBe(count);
  answer({ method: "files.event", params: {} });
  expect(use.count).toBe(count + 1);
});

test("a ping to a parked machine is answered by the host and wakes nothing", () => {
  const { ask, vm, said, use } = opened();
  vm.isParked = true;
  const { count } = use;
  expect(ask({ id: 6, method: "rpc.ping" })).toBe(false);
  expect(said).toEqual([pong(6)]);
  expect(use.count).toBe(count);
});

test("a ping that the machine had in hand when it was parked is answered once", () => {
  const { ask, answer, calls, said } = opened();
  ask({ id: 7, method: "rpc.ping" });
  calls.parked();
  expect(said).toEqual([pong(7)]);
  // Once it goes on, its own answer comes, then that of a request with the same id.
  ask({ id: 7, method: "commands.list" });
  expect(answer({ id: 7, result: {} })).toBe(false);
  expect(answer({ id: 7, result: { processes: [] } })).toBe(true);
  calls.parked();
  expect(said).toHaveLength(1);
});

test("a client that opens very many requests is in use by those that are counted", () => {
  const { ask, inFlight } = opened();
  for (let id = 1; id <= 5000; id += 1) ask({ id, method: "commands.run" });
  expect(inFlight()).toBe(1000);
});
