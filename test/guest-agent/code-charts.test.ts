import { Chart } from "@svc/contract/control-channel/chart.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingPython } from "./code-rig.ts";
import { AgentRig } from "./rig.ts";

let rig: AgentRig;
beforeAll(async () => void (rig = await AgentRig.start()));
afterAll(() => rig.close());

const SETUP = "import matplotlib.pyplot as plt, pandas as pd, numpy as np, datetime";

/** The chart of the one figure that code draws, and that it has a picture. */
async function chartOf(code: string): Promise<Chart> {
  const { client } = rig.bulk.customer();
  const {
    results = [],
    charts,
    error,
  } = await client.ask("code.run", { code: `${SETUP}\n${code}\nNone` });
  expect(error).toBeUndefined();
  const pictures = results.filter(({ png }) => png !== undefined);
  expect(pictures).toHaveLength(1);
  expect(charts).toEqual([pictures[0]?.chart]);
  return Chart.parse(pictures[0]?.chart);
}

describe.skipIf(missingPython)("the chart of a figure", () => {
  test("a line: title, labels, unit, ticks, legend, points", async () => {
    const code = `plt.plot([0, 1, 2], [1, 4, float("nan")], label="run"); plt.axhline(2); plt.legend()
plt.title("Speed"); plt.xlabel("Time (s)"); plt.ylabel("v [m/s]"); plt.xticks([0, 1, 2])`;
    expect(await chartOf(code)).toMatchObject({
      type: "line",
      title: "Speed",
      x: { label: "Time (s)", unit: "s", ticks: [0, 1, 2], scale: "linear" },
      y: { label: "v [m/s]", unit: "m/s" },
      elements: [
        {
          label: "run",
          points: [
            [0, 1],
            [1, 4],
            [2, null],
          ],
        },
      ],
    });
  });

  test("axes with a logarithm, dates and categories", async () => {
    expect(await chartOf("plt.semilogy([1, 2], [10, 1000])")).toMatchObject({
      y: { scale: "log", ticks: [10, 100, 1000] },
      elements: [
        {
          points: [
            [1, 10],
            [2, 1000],
          ],
        },
      ],
    });
    const dates =
      "plt.plot([datetime.datetime(2026, 1, 1, 12), datetime.datetime(2026, 1, 3)], [1, 2])";
    expect(await chartOf(dates)).toMatchObject({
      x: { scale: "date" },
      elements: [
        {
          points: [
            ["2026-01-01T12:00:00", 1],
            ["2026-01-03T00:00:00", 2],
          ],
        },
      ],
    });
    expect(await chartOf('plt.plot(["a", "b"], [1, 2])')).toMatchObject({
      x: { scale: "category", ticks: ["a", "b"] },
      elements: [
        {
          points: [
            ["a", 1],
            ["b", 2],
          ],
        },
      ],
    });
    const series = 'pd.Series([1, 2], index=pd.date_range("2026-01-01", periods=2)).plot()';
    expect(await chartOf(series)).toMatchObject({
      x: { scale: "date" },
      elements: [
        {
          points: [
            ["2026-01-01", 1],
            ["2026-01-02", 2],
          ],
        },
      ],
    });
  });

  test("scatter, by scatter and by markers alone", async () => {
    const elements = [
      {
        label: "s",
        points: [
          [1, 3],
          [2, 4],
        ],
      },
    ];
    expect(await chartOf('plt.scatter([1, 2], [3, 4], label="s")')).toMatchObject({
      type: "scatter",
      elements,
    });
    expect(await chartOf('plt.plot([1, 2], [3, 4], "o", label="s")')).toMatchObject({
      type: "scatter",
      elements,
    });
  });

  test("bars, lying ones and grouped ones", async () => {
    const elements = [
      { label: "a", group: "", value: 3 },
      { label: "b", group: "", value: 4 },
    ];
    expect(await chartOf('plt.bar(["a", "b"], [3, 4], yerr=[1, 1], capsize=3)')).toMatchObject({
      type: "bar",
      elements,
    });
    expect(await chartOf('plt.barh(["a", "b"], [3, 4])')).toMatchObject({ type: "bar", elements });
    const grouped = 'pd.DataFrame({"m": [1, 2], "w": [3, 4]}, index=["G1", "G2"]).plot.bar()';
    expect(await chartOf(grouped)).toMatchObject({
      type: "bar",
      x: { ticks: ["G1", "G2"] },
      elements: [
        { label: "G1", group: "m", value: 1 },
        { label: "G2", group: "m", value: 2 },
        { label: "G1", group: "w", value: 3 },
        { label: "G2", group: "w", value: 4 },
      ],
    });
  });

  test("a pie", async () => {
    expect(
      await chartOf('plt.pie([1, 3], labels=["a", "b"], autopct="%d"); plt.title("Parts")'),
    ).toMatchObject({
      type: "pie",
      title: "Parts",
      elements: [
        { label: "a", angle: 90, share: 0.25 },
        { label: "b", angle: 270, share: 0.75 },
      ],
    });
  });

  test("what is none of these is composite, with a subtype", async () => {
    expect(await chartOf("plt.hist([1, 2, 2, 3], bins=[1, 2, 3])")).toMatchObject({
      type: "composite",
      subtype: "histogram",
      elements: [
        { from: 1, to: 2, value: 1 },
        { from: 2, to: 3, value: 3 },
      ],
    });
    expect(await chartOf('plt.boxplot([[1, 2, 3, 4, 10]], labels=["one"])')).toMatchObject({
      subtype: "box",
      elements: [{ median: 3, min: 1, max: 4, outliers: [10] }],
    });
    expect(await chartOf("plt.imshow([[1, 2], [3, 4]]); plt.colorbar()")).toMatchObject({
      subtype: "heatmap",
      elements: [
        {
          rows: [
            [1, 2],
            [3, 4],
          ],
        },
      ],
    });
    expect(await chartOf("plt.bar([1, 2], [3, 4]); plt.plot([1, 2], [5, 6])")).toMatchObject({
      subtype: "mixed",
      elements: [{ type: "line" }, { type: "bar" }],
    });
    const several = `figure, (left, right) = plt.subplots(1, 2); figure.suptitle("Both")
left.plot([1, 2]); right.pie([1])`;
    expect(await chartOf(several)).toMatchObject({
      type: "composite",
      subtype: "axes",
      title: "Both",
      elements: [{ type: "line" }, { type: "pie" }],
    });
    expect(await chartOf("plt.plot([1, 2]); plt.twinx().plot([30, 40])")).toMatchObject({
      subtype: "axes",
      elements: [
        { type: "line" },
        {
          type: "line",
          elements: [
            {
              points: [
                [0, 30],
                [1, 40],
              ],
            },
          ],
        },
      ],
    });
  });

  test("a very long series is cut and says so; what cannot be read has its picture", async () => {
    const long = await chartOf("plt.plot(range(30_000))");
    expect(long).toMatchObject({ type: "line", truncated: true });
    const { client } = rig.bulk.customer();
    const code = `${SETUP}\nplt.subplot(projection="3d").plot([1], [1], [1])\nNone`;
    const { results, charts } = await client.ask("code.run", { code });
    expect(results).toEqual([{ text: expect.any(String), png: expect.any(String) }]);
    expect(charts).toEqual([]);
  });
});
