import type { Table } from "../live/duty-record.ts";
import { duties, type TemplateDuty } from "./duties.ts";
import type { StoredTemplate } from "./record.ts";
import { step, type TemplateEvent, timers } from "./transitions.ts";

/** The rules by which a template's record changes. */
export const TEMPLATE_TABLE: Table<StoredTemplate, TemplateEvent, TemplateDuty> = {
  key: "template",
  step,
  timers: ({ state, lookAt }) => ({ ...timers(state), look: lookAt }),
  duties: (before, after) => duties(before.state, after.state),
  amend: (_before, { state }) => (state.status === "building" ? {} : { lookAt: null }),
  eraseAt: ({ status }) => (status === "deleted" ? 0 : null),
};
