// Guards the documents that are made from the contract and the settings: each operation stands in openapi.json and in the API page, once.
import { globSync, readFileSync } from "node:fs";
import { OPERATIONS } from "@svc/contract/operations/index.ts";
import { expect, test } from "vitest";
import { apiDocument } from "../../scripts/docs/api.ts";
import { VARIABLES } from "../../scripts/docs/configuration.ts";
import { openapi } from "../../scripts/docs/openapi.ts";

test("every operation but the hosts' stands in the OpenAPI document under its own name, and no other", () => {
  const described = Object.values(openapi()["paths"] as Record<string, Record<string, object>>)
    .flatMap((path) => Object.values(path))
    .map((operation) => ("operationId" in operation ? operation.operationId : null));
  const expected = Object.entries(OPERATIONS).filter(([, op]) => op.auth !== "host");
  expect(described).toHaveLength(expected.length);
  expect(new Set(described)).toEqual(new Set(expected.map(([name]) => name)));
});

test("the API document names every route and every code it may answer", () => {
  const text = apiDocument();
  for (const op of Object.values(OPERATIONS)) {
    const isShown = text.includes(`## ${op.method} ${op.path}\n`);
    expect(isShown).toBe(op.auth !== "host");
  }
  expect(text).toContain("402 FeatureRequiresPlan");
});

/** Programs give each other these; nobody sets them. */
const INTERNAL = /^SVC_(AGENT_(?!DIR)\w+|WORKERD)$/;

/** Customers set them for their own programs, as the banner of `npm start` shows. */
const OF_CUSTOMERS = ["SVC_API_KEY", "SVC_BASE_URL"];

test("every variable that a program reads stands in the table of settings", () => {
  const sources = globSync(
    "{src,durable-objects,control-plane,host-kit,browser-pool,vm-host,guest-agent,scripts}/**/*.{ts,mjs}",
  );
  const named = sources.flatMap(
    (file) => readFileSync(file, "utf8").match(/\bSVC_[A-Z_]+\b/g) ?? [],
  );
  const unknown = new Set(
    named.filter((name) => ![...VARIABLES, ...OF_CUSTOMERS].includes(name) && !INTERNAL.test(name)),
  );
  expect([...unknown]).toEqual([]);
});
