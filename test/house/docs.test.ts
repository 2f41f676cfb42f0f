// Guards the documents that are made from the contract and the settings: each operation stands in openapi.json and in the API page, once.
import { globSync, readFileSync } from "node:fs";
import { OPERATIONS } from "@svc/contract/operations/index.ts";
import type { Operation } from "@svc/contract/operations/operation.ts";
import { expect, test } from "vitest";
import { apiDocument } from "../../scripts/docs/api.ts";
import { VARIABLES } from "../../scripts/docs/configuration.ts";
import { guides } from "../../scripts/docs/guides.ts";
import { openapi } from "../../scripts/docs/openapi.ts";

test("every operation but the hosts' stands in the OpenAPI document under its own name, and no other", () => {
  const described = Object.values(openapi()["paths"] as Record<string, Record<string, object>>)
    .flatMap((path) => Object.values(path))
    .map((operation) => ("operationId" in operation ? operation.operationId : null));
  const expected = Object.entries(OPERATIONS).filter(([, op]) => op.auth !== "host");
  expect(described).toHaveLength(expected.length);
  expect(new Set(described)).toEqual(new Set(expected.map(([name]) => name)));
});

test("the page of /docs names the version of Swagger UI that is installed", () => {
  const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  const named = readFileSync("public/docs/index.html", "utf8").match(/swagger-ui-[\d.]+(?=\/)/g);
  expect(new Set(named)).toEqual(new Set([`swagger-ui-${devDependencies["swagger-ui-dist"]}`]));
});

test.each(
  Object.entries<Operation>(OPERATIONS).filter(
    ([, { request, auth }]) => request && (auth === "key" || auth === "operator"),
  ),
)("the example of %s is a body that it takes", (_name, { request, example }) => {
  expect(example).toBeDefined();
  expect(request?.safeParse(example)).toMatchObject({ success: true });
});

test("docs/README.md lists every guide, and llms-full.txt has it", () => {
  const listed = guides().map(({ file }) => file);
  expect(listed.toSorted()).toEqual(globSync("docs/guides/*.md").toSorted());
  const whole = readFileSync("public/llms-full.txt", "utf8");
  expect(guides().filter(({ title }) => !whole.includes(`\n# ${title}\n`))).toEqual([]);
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
