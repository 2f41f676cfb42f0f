import * as z from "zod";

/** Any value at all, although clients are told to send an `Input`: what is wrong is judged afterwards, or ignored. */
export const anything = <Input>() => z.unknown() as z.ZodType<unknown, Input>;

/**
 * An object with keys of the client's own. Not `z.record`: that drops the key `__proto__` without a word, whatever
 * its value is. Here it is a key like any other, in an object whose prototype is nobody's to set. The first entry that
 * is wrong is named. `json` is its JSON Schema, for the documents.
 */
export function openMap<V>(key: z.ZodType<string>, value: z.ZodType<V>, json: object = {}) {
  return anything<Readonly<Record<string, V>>>()
    .transform((input, { issues }): Record<string, V> => {
      const entries = isMap(input) ? Object.entries(input) : null;
      if (!entries) issues.push({ code: "custom", message: "must be an object", input });
      const kept: [string, V][] = [];
      for (const [name, inner] of entries ?? []) {
        const known = key.safeParse(name);
        const held = value.safeParse(inner);
        const message = reasonOf(known) ?? reasonOf(held);
        if (message !== null) issues.push({ code: "custom", message, input, path: [name] });
        if (!held.success || message !== null) break;
        kept.push([name, held.data]);
      }
      return Object.fromEntries(kept);
    })
    .meta({ type: "object", ...json });
}

const isMap = (input: unknown): input is object =>
  typeof input === "object" && input !== null && !Array.isArray(input);

const reasonOf = ({ error }: z.ZodSafeParseResult<unknown>): string | null =>
  error ? (error.issues[0]?.message ?? "is wrong") : null;
