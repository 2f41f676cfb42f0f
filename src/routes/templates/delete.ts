import { accepted } from "../../accepted.ts";
import type { Handler } from "../../context.ts";
import { reach } from "../../objects.ts";
import { noTemplate, ownTemplate } from "./boot.ts";

export const deleteTemplate: Handler = async (c) => {
  const answer = await reach(() => ownTemplate(c, c.req.param("id") ?? "").delete());
  if (!answer) throw noTemplate();
  accepted(answer);
  return c.json({ ok: true });
};
