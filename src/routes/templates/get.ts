import type { Handler } from "../../context.ts";
import { reach } from "../../objects.ts";
import { noTemplate, ownTemplate } from "./boot.ts";
import { builtInTemplates, templateOf } from "./record.ts";

/** A built-in template is found by its name. */
export const getTemplate: Handler = async (c) => {
  const id = c.req.param("id") ?? "";
  const builtIn = (await builtInTemplates(c.env)).find(({ templateId }) => templateId === id);
  if (builtIn) return c.json(builtIn);
  const template = await reach(() => ownTemplate(c, id).read());
  if (!template) throw noTemplate();
  return c.json(templateOf(template));
};
