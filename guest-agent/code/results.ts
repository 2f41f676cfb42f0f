import { CHANNELS } from "@svc/contract/control-channel/binary-frame.ts";
import type { CodeResult, RunAnswer } from "@svc/contract/control-channel/code-methods.ts";
import { RESULT_TYPES } from "@svc/contract/control-channel/result-types.ts";
import { movedBytes } from "@svc/contract/control-channel/run-reader.ts";

/** Parts below this stay where they are: a reference is not much shorter. */
const SMALL_BYTES = 256;
const BASE64 = ["png", "jpeg"];
/** The order in which the parts of a result come. */
const FIELDS: readonly string[] = Object.values(RESULT_TYPES);

/** A result, or all charts of a run. */
export type Shown = CodeResult & Pick<RunAnswer, "charts">;

/** What goes into a message, and the bytes that go over the channel of parts, in their order. */
export interface Fitted {
  results: Shown[];
  parts: Buffer[];
}

/** Fits results into so many bytes of a message: the largest parts go over the channel. */
export function fit(results: readonly Shown[], room: number): Fitted {
  const sizes = results.flatMap((result, index) =>
    Object.entries(result).map(([field, value]) => ({
      key: `${index}.${field}`,
      bytes: Buffer.byteLength(JSON.stringify(value)),
    })),
  );
  let total = sizes.reduce((sum, { bytes }) => sum + bytes + 20, 0);
  // A value that looks like a part has to be sent as one.
  const misleading = results.flatMap((result, index) =>
    Object.entries(result).flatMap(([field, value]) =>
      movedBytes(value) === null ? [] : [`${index}.${field}`],
    ),
  );
  const moved = new Set(misleading);
  for (const { key, bytes } of sizes.toSorted((left, right) => right.bytes - left.bytes)) {
    if (total <= room || bytes < SMALL_BYTES) break;
    moved.add(key);
    total -= bytes;
  }
  const parts: Buffer[] = [];
  const move = (field: string, value: unknown) => {
    const bytes = bytesOf(field, value);
    parts.push(bytes);
    return { channel: CHANNELS.parts, bytes: bytes.length };
  };
  const fitted = results.map((result, index) => {
    const fields = inOrder(result).map(([field, value]) => [
      field,
      moved.has(`${index}.${field}`) ? move(field, value) : value,
    ]);
    return Object.fromEntries(fields) as Shown;
  });
  return { results: fitted, parts };
}

const inOrder = (result: Shown): [string, unknown][] =>
  Object.entries(result).toSorted(([one], [other]) => FIELDS.indexOf(one) - FIELDS.indexOf(other));

function bytesOf(field: string, value: unknown): Buffer {
  if (typeof value !== "string") return Buffer.from(JSON.stringify(value));
  return Buffer.from(value, BASE64.includes(field) ? "base64" : "utf8");
}
