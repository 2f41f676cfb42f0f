import type { TemplateList } from "@svc/contract/vm/template.ts";
import { listTemplates as rowsOf } from "../../../control-plane/templates.ts";
import type { TemplateView } from "../../../control-plane/templates.ts";
import type { AppContext, Handler } from "../../context.ts";
import { reach } from "../../objects.ts";
import { ownTemplate } from "./boot.ts";
import { builtInTemplates, templateOf } from "./record.ts";

export const listTemplates: Handler = async (c) => {
  const rows = await rowsOf(c.env.DB, c.get("caller").orgId);
  const views = await Promise.all(rows.map((row) => fresh(c, row)));
  const own = views.filter((view) => view !== null).map(templateOf);
  const body: TemplateList = { templates: [...(await builtInTemplates(c.env)), ...own] };
  return c.json(body);
};

/** Asks the object of a template that is being built, so that list and record agree. */
async function fresh(c: AppContext, row: TemplateView): Promise<TemplateView | null> {
  return row.state === "building" ? reach(() => ownTemplate(c, row.id).read()) : row;
}
