import type { Handler } from "../../context.ts";
import { reach } from "../../objects.ts";
import { noTemplate, ownTemplate } from "./boot.ts";
import { templateOf } from "./record.ts";

/** 202 also for a build that is over, which stays as it is. */
export const cancelTemplate: Handler = async (c) => {
  const template = await reach(() => ownTemplate(c, c.req.param("id") ?? "").cancel());
  if (!template) throw noTemplate();
  return c.json(templateOf(template), 202);
};
