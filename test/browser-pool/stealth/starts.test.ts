import { expect, test } from "vitest";
import { Starts, startKindOf } from "../../../browser-pool/cdp/starts.ts";

/** Starts, in which sessions say their word, and what became of it. */
class Gate {
  readonly done: string[] = [];
  readonly open = new Set<string>();
  readonly starts = new Starts(
    (id) => this.open.has(id),
    (id) => id.startsWith("shim"),
  );

  stop(targetId: string, type: string, canAccessOpener: boolean, ...sessions: string[]): void {
    for (const id of sessions) {
      this.open.add(id);
      this.starts.stopped(targetId, id, startKindOf(type, canAccessOpener));
    }
  }

  say(id: string): void {
    const note = (what: string) => () => void this.done.push(`${id} ${what}`);
    this.starts.take(id, { send: note("sent"), answer: note("answered") });
  }
}

test("a worker runs when all have said so, and each word is sent", () => {
  const gate = new Gate();
  gate.stop("worker", "worker", false, "customer", "shim");
  gate.say("customer");
  expect(gate.done).toEqual([]);
  gate.say("shim");
  expect(gate.done).toEqual(["customer sent", "shim sent"]);
  expect(gate.starts.size).toBe(0);
});

test("a popup is let run by one word: the browser would take a second one for its next popup", () => {
  const gate = new Gate();
  gate.stop("popup", "page", true, "customer", "shim", "other");
  for (const id of ["other", "shim", "customer"]) gate.say(id);
  expect(gate.done).toEqual(["other answered", "shim sent", "customer answered"]);
});

test("a popup that the leading client was not stopped for is let run by the others", () => {
  const gate = new Gate();
  gate.stop("popup", "page", true, "customer");
  gate.say("customer");
  expect(gate.done).toEqual(["customer sent"]);
});

test("a tab and a frame wait for each client by themselves", () => {
  const gate = new Gate();
  gate.stop("tab", "page", false, "shim", "customer");
  gate.stop("frame", "iframe", false, "shim frame");
  for (const id of ["customer", "shim frame"]) gate.say(id);
  expect(gate.done).toEqual(["customer sent", "shim frame sent"]);
});

test("a word that lets nothing run is answered, and so is one that was said before", () => {
  const gate = new Gate();
  gate.say("stranger");
  gate.stop("worker", "worker", false, "customer", "shim");
  gate.say("customer");
  gate.say("customer");
  expect(gate.done).toEqual(["stranger answered", "customer answered"]);
});

test("nobody waits for a session that has ended, and its word goes with it", () => {
  const gate = new Gate();
  gate.stop("worker", "worker", false, "customer", "shim", "gone");
  gate.say("gone");
  gate.say("shim");
  for (const id of ["gone", "customer"]) gate.open.delete(id);
  gate.starts.sweep();
  expect(gate.done).toEqual(["shim sent"]);
  gate.stop("page", "page", false, "left");
  gate.open.delete("left");
  gate.starts.sweep();
  expect(gate.starts.size).toBe(0);
});
