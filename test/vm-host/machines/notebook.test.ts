import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Chart } from "@svc/contract/control-channel/chart.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Said, runCode } from "../../support/process/code-client.ts";
import { missingMachine } from "../rig/needs.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 600_000;
/** A folder: the pictures are left there, for who wants to look at them. */
const PICTURES = process.env["SVC_TEST_PICTURES"];

const SALES = `import datetime, numpy as np, pandas as pd, matplotlib.pyplot as plt
sales = pd.DataFrame({"north": [3, 5, 4, 8], "south": [2, 2, 6, 7]},
    index=pd.to_datetime(["2026-01-01", "2026-02-01", "2026-03-01", "2026-04-01"]))
quarter = sales.sum()
sales`;

/** The cells of one session, each with the chart that it draws. */
const CELLS: [name: string, code: string, chart: object][] = [
  [
    "line",
    `sales.index.name = None
plt.plot(sales.index, sales["north"], label="north"); plt.plot(sales.index, sales["south"], "--", label="south")
plt.title("Verkäufe je Monat"); plt.xlabel("Month"); plt.ylabel("Sales (k€)"); plt.legend(); plt.xticks(sales.index)`,
    {
      type: "line",
      title: "Verkäufe je Monat",
      x: { label: "Month", scale: "date" },
      y: { label: "Sales (k€)", unit: "k€" },
      elements: [
        {
          label: "north",
          points: [
            ["2026-01-01T00:00:00", 3],
            ["2026-02-01T00:00:00", 5],
            ["2026-03-01T00:00:00", 4],
            ["2026-04-01T00:00:00", 8],
          ],
        },
        {
          label: "south",
          points: [
            ["2026-01-01T00:00:00", 2],
            ["2026-02-01T00:00:00", 2],
            ["2026-03-01T00:00:00", 6],
            ["2026-04-01T00:00:00", 7],
          ],
        },
      ],
    },
  ],
  [
    "scatter-log",
    `plt.scatter([1, 10, 100], [2, 200, 20000], s=80, c=["r", "g", "b"], label="runs"); plt.loglog(); plt.grid()
plt.title("Cost of n"); plt.xlabel("n"); plt.ylabel("time [ms]")`,
    {
      type: "scatter",
      x: { label: "n", scale: "log" },
      y: { unit: "ms", scale: "log" },
      elements: [
        {
          label: "runs",
          points: [
            [1, 2],
            [10, 200],
            [100, 20_000],
          ],
        },
      ],
    },
  ],
  [
    "bar",
    `sales.set_axis(["Jan", "Feb", "Mar", "Apr"]).plot.bar(title="By month", rot=0)`,
    {
      type: "bar",
      title: "By month",
      elements: [
        ["Jan", "north", 3],
        ["Feb", "north", 5],
        ["Mar", "north", 4],
        ["Apr", "north", 8],
        ["Jan", "south", 2],
        ["Feb", "south", 2],
        ["Mar", "south", 6],
        ["Apr", "south", 7],
      ].map(([label, group, value]) => ({ label, group, value })),
    },
  ],
  [
    "lying-bar",
    `quarter.plot.barh(color=["C0", "C1"]); plt.xlabel("k€"); plt.title("First third")`,
    {
      type: "bar",
      elements: [
        { label: "north", value: 20 },
        { label: "south", value: 17 },
      ],
    },
  ],
  [
    "pie",
    `plt.pie([1, 3], labels=["a", "b"], autopct="%.0f %%"); plt.title("Shares")`,
    {
      type: "pie",
      elements: [
        { label: "a", share: 0.25, angle: 90 },
        { label: "b", share: 0.75, angle: 270 },
      ],
    },
  ],
  [
    "histogram",
    `plt.hist([1, 2, 2, 3, 3, 3], bins=[0.5, 1.5, 2.5, 3.5], edgecolor="w"); plt.title("Rolls")`,
    {
      type: "composite",
      subtype: "histogram",
      elements: [
        { from: 0.5, to: 1.5, value: 1 },
        { from: 1.5, to: 2.5, value: 2 },
        { from: 2.5, to: 3.5, value: 3 },
      ],
    },
  ],
  [
    "box",
    `plt.boxplot([[1, 2, 3, 4, 10], [2, 3, 4]], labels=["one", "two"]); plt.title("Spread")`,
    {
      subtype: "box",
      elements: [
        { median: 3, min: 1, max: 4, outliers: [10] },
        { median: 3, min: 2, max: 4 },
      ],
    },
  ],
  [
    "heatmap",
    `plt.imshow(np.arange(6).reshape(2, 3), cmap="viridis"); plt.colorbar(label="k€"); plt.title("Heat")`,
    {
      subtype: "heatmap",
      elements: [
        {
          rows: [
            [0, 1, 2],
            [3, 4, 5],
          ],
        },
      ],
    },
  ],
  [
    "area",
    `sales.plot.area(title="Stacked")`,
    {
      subtype: "mixed",
      title: "Stacked",
      x: { scale: "date" },
      elements: [
        {
          type: "line",
          elements: [
            {
              points: [
                ["2026-01", 3],
                ["2026-02", 5],
                ["2026-03", 4],
                ["2026-04", 8],
              ],
            },
            {
              points: [
                ["2026-01", 5],
                ["2026-02", 7],
                ["2026-03", 10],
                ["2026-04", 15],
              ],
            },
          ],
        },
        { subtype: "area", elements: [{ label: "north" }, { label: "south" }] },
      ],
    },
  ],
  [
    "two-axes",
    `plt.bar(["a", "b"], [3, 4], label="count"); plt.ylabel("count")
other = plt.twinx(); other.plot(["a", "b"], [0.3, 0.9], "r-o"); other.set_ylabel("rate (%)"); plt.title("Both")`,
    {
      subtype: "axes",
      elements: [
        {
          type: "bar",
          elements: [
            { label: "a", value: 3 },
            { label: "b", value: 4 },
          ],
        },
        { type: "line", y: { unit: "%" } },
      ],
    },
  ],
  [
    "many-axes",
    `figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained"); figure.suptitle("All of it")
axes[0, 0].plot([1, 4, 9]); axes[0, 1].scatter([1, 2], [3, 4]); axes[1, 0].bar(["x"], [1]); axes[1, 1].pie([1, 1])`,
    {
      subtype: "axes",
      title: "All of it",
      elements: [{ type: "line" }, { type: "scatter" }, { type: "bar" }, { type: "pie" }],
    },
  ],
  [
    "letters",
    `plt.plot([1, 2], label="größer ≥ ½ → ✓"); plt.title("売上 销售 📈 Ελλάδα Россия"); plt.xlabel(r"$\\alpha^2 + \\frac{1}{2}$"); plt.legend()`,
    { type: "line", title: "売上 销售 📈 Ελλάδα Россия", elements: [{ label: "größer ≥ ½ → ✓" }] },
  ],
];

describe.skipIf(await missingMachine())("a notebook in a machine", { timeout: MACHINE_MS }, () => {
  let rig: Rig;
  let run: (code: string) => Promise<Said>;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    await rig.template();
    await rig.place("one");
    const { url, headers } = await rig.socket("one");
    run = (code) => runCode(url, { code }, { headers });
    if (PICTURES !== undefined) await mkdir(PICTURES, { recursive: true });
    const { results } = await run(SALES);
    expect(results).toMatchObject([{ table: { columns: ["north", "south"], totalRows: 4 } }]);
  }, MACHINE_MS);
  afterAll(() => rig?.stop());

  test.each(CELLS)("draws %s, with its data and no complaint", async (name, code, chart) => {
    const { results, answer, stderr } = await run(`${code}\nNone`);
    expect([answer.error, stderr]).toEqual([undefined, ""]);
    expect(results).toHaveLength(1);
    const [shown] = results;
    const picture = Buffer.from(shown?.png ?? "", "base64");
    if (PICTURES !== undefined) await writeFile(join(PICTURES, `${name}.png`), picture);
    expect(picture.toString("latin1", 1, 4)).toBe("PNG");
    expect(Chart.parse(shown?.chart)).toMatchObject(chart);
  });
});
