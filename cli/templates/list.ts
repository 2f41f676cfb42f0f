import { type Cli, firstOf } from "../cli.ts";
import { ago } from "../terminal/table.ts";

/** All templates of the org. */
export async function listTemplates(cli: Cli): Promise<void> {
  const all = await firstOf((await cli.svc()).templates.list(), Infinity);
  cli.printRows(
    all,
    {
      id: ({ templateId }) => templateId,
      name: ({ name }) => name,
      kind: ({ kind }) => kind,
      state: ({ state, step, steps }) =>
        state === "building" && steps > 0 ? `building, step ${step} of ${steps}` : state,
      created: (one) => ("createdAt" in one ? ago(one.createdAt) : "built in"),
      reason: ({ error }) => error?.message,
    },
    "There is no template.",
  );
}
