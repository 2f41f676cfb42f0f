import { expect, test } from "vitest";
import { disarm } from "../../../console/replay/disarm.ts";
import { hostileEvents } from "../../support/hostile-replay.ts";

test("nothing that acts by itself is left, however deep it stands, and the rest is as it was", () => {
  const events = hostileEvents("http://trap", "the last words");
  for (const event of events) disarm(event);
  const text = JSON.stringify(events);
  for (const name of ["rel", "http-equiv", "srcdoc", "sandbox", "ping", "action", "onload"])
    expect(text).not.toContain(`"${name}":`);
  expect(text).not.toMatch(/"on\w+":/i);
  expect(text).toContain('"href":"http://trap/link"');
  expect(text).toContain("the last words");
});

test("a document may be as deep as it likes", () => {
  let node: object = { attributes: { onclick: "x" }, childNodes: [] };
  const deepest = node;
  for (let depth = 0; depth < 100_000; depth += 1) node = { attributes: {}, childNodes: [node] };
  disarm(node);
  expect(deepest).toEqual({ attributes: {}, childNodes: [] });
});
