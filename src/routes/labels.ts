import type { AppContext } from "../context.ts";

const LABEL = "metadata.";

/** Labels that a list is filtered by: `metadata.<key>=<value>`, repeatable. */
export function labelsOf(c: AppContext): [string, string][] {
  return Object.entries(c.req.queries())
    .filter(([name]) => name.startsWith(LABEL))
    .flatMap(([name, values]) =>
      values.map((value): [string, string] => [name.slice(LABEL.length), value]),
    );
}
