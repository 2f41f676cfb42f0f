import { codeAnswer } from "@svc/mcp/machine/code-answer.ts";
import type { CodeAnswer } from "@svc/sdk/index.ts";
import { describe, expect, test } from "vitest";

const output = { stdout: "", stderr: "", truncated: false };
const answerOf = (more: Partial<CodeAnswer>) => {
  const facts = { run: "run_1", context: "default", executionCount: 1 };
  return codeAnswer({ ...facts, stdout: "", stderr: "", results: [], charts: [], ...more }, output);
};
const png = (length: number) => ({ png: "A".repeat(length) });

describe("the answer of a run", () => {
  test("has one form of words of each result, and the number of its picture", () => {
    const { json, blocks } = answerOf({
      results: [
        { text: "a", html: "<b>a</b>", table: {} },
        { text: "<Figure>", png: "AAAA" },
        { html: "<i>" },
        { json: { a: 1 }, jpeg: "BBBB" },
      ],
    });
    expect(json["results"]).toEqual([
      { text: "a" },
      { text: "<Figure>", picture: 1 },
      { html: "<i>" },
      { json: '{"a":1}', picture: 2 },
    ]);
    expect(blocks).toEqual([
      { type: "image", data: "AAAA", mimeType: "image/png" },
      { type: "image", data: "BBBB", mimeType: "image/jpeg" },
    ]);
  });

  test.each([
    ["a picture above 700 kB", [png(700_001), png(10)], 1],
    ["the eleventh picture", Array.from({ length: 11 }, () => png(10)), 10],
    ["what is above 2 MB together", Array.from({ length: 4 }, () => png(600_000)), 3],
  ])("leaves %s out, and says so", (_what, results, shown) => {
    const { json, blocks } = answerOf({ results });
    expect(blocks).toHaveLength(shown);
    expect(json["omitted"]).toEqual([expect.stringMatching(/^a picture of \d+ .*svc_read_file$/)]);
  });

  test("has charts without their elements where they are too long", () => {
    const axis = { label: "", ticks: [] };
    const chart = { type: "line", title: "t", x: axis, y: axis };
    const charts = [
      { ...chart, elements: [{ label: "a", points: [[1, 2]] }] },
      { ...chart, elements: [{ label: "b", points: Array.from({ length: 9_000 }, () => [1, 2]) }] },
      { ...chart, elements: [{ label: "c", points: [[3, 4]] }] },
    ];
    const { json } = answerOf({ charts });
    expect(json["charts"]).toEqual([charts[0], { ...charts[1], elements: [] }, charts[2]]);
    expect(json["omitted"]).toEqual([expect.stringContaining("chart 2")]);
  });

  test("clips values together, and a traceback, whose colours it drops", () => {
    const { json } = answerOf({
      results: Array.from({ length: 3 }, () => ({ text: "x".repeat(15_000) })),
      error: { name: "E", value: "v", traceback: `\u001b[31mred\u001b[0m${"y".repeat(10_000)}` },
    });
    expect(JSON.stringify(json["results"]).length).toBeLessThan(21_000);
    expect(json["omitted"]).toEqual([expect.stringContaining("1 results")]);
    expect(JSON.stringify(json["error"])).toMatch(/"red.*left out/);
  });
});
