import * as z from "zod";

/** A number, the name of a category, or a moment as ISO 8601; null where there is none. */
const place = z.union([z.number(), z.string(), z.null()]);
const nothing = z.null();

/** One axis of a chart. */
export const ChartAxis = z.object({
  label: z.string(),
  /** Those that are seen. */
  ticks: z.array(place),
  /** What the label has in brackets at its end. */
  unit: z.string().exactOptional(),
  /** `linear`, `log`, `date`, `category` and what else the library knows. */
  scale: z.string().exactOptional(),
});

const frame = {
  title: z.string(),
  x: ChartAxis,
  y: ChartAxis,
  /** It has more points than are told. */
  truncated: z.literal(true).exactOptional(),
};

const Series = z.object({ label: z.string(), points: z.array(z.tuple([place, place])) });
const Bar = z.object({ label: place, group: z.string(), value: z.union([z.number(), nothing]) });
const Slice = z.object({
  label: z.string(),
  /** Degrees. */
  angle: z.number(),
  /** Of the whole, 0 to 1. */
  share: z.number(),
  radius: z.number(),
});

/**
 * What a figure shows. What is none of the first four kinds is `composite` with a `subtype`: `axes` (several pairs of axes: the elements
 * are charts), `mixed` (several kinds in one pair), `histogram`, `box`, `heatmap`, `area`.
 */
export const Chart = z.discriminatedUnion("type", [
  z.object({ type: z.literal("line"), ...frame, elements: z.array(Series) }),
  z.object({ type: z.literal("scatter"), ...frame, elements: z.array(Series) }),
  z.object({ type: z.literal("bar"), ...frame, elements: z.array(Bar) }),
  z.object({ type: z.literal("pie"), ...frame, elements: z.array(Slice) }),
  z.object({
    type: z.literal("composite"),
    subtype: z.string().exactOptional(),
    ...frame,
    elements: z.array(z.looseObject({})),
  }),
]);
export type Chart = z.infer<typeof Chart>;
