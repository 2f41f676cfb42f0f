import {
  BuildRefused,
  BuildReport,
  type BuildTemplate,
} from "@svc/contract/host-protocol/templates.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import { within } from "../live/deadline.ts";
import { noteFault, noteRefusal } from "./fault.ts";
import { call, hostUrl, type Subject } from "./slots.ts";

/** The answer of a host that was asked to build. `refused` has the host's own words. */
export type BuildAnswer =
  | { type: "taken" }
  | { type: "refused"; reason: string }
  | { type: "unreachable" };

export async function startBuild(
  env: Env,
  base: string,
  subject: Subject,
  body: BuildTemplate,
): Promise<BuildAnswer> {
  const init = { method: "POST", body: JSON.stringify(body) };
  try {
    return await within(LIMITS.hostCallMs, async (signal) => {
      const url = hostUrl(base, "templates", subject.id);
      const response = await call(env, url, subject, { ...init, signal });
      const text = await response.text();
      if (response.status === 202) return { type: "taken" };
      if (response.status !== 409 && response.status !== 503)
        throw new Error(`the host answered ${response.status}`);
      const refused = BuildRefused.parse(JSON.parse(text));
      noteRefusal("POST /templates/:id", response.status, refused);
      return { type: "refused", reason: refused.hint ?? refused.error };
    });
  } catch (error) {
    noteFault("POST /templates/:id", error);
    return { type: "unreachable" };
  }
}

/** The answer of a host that was asked how far a build is. `missing`: the host knows of none. */
export type BuildReportAnswer =
  | { type: "ok"; report: BuildReport }
  | { type: "missing" }
  | { type: "unreachable" };

/** Asks how far a build is; the host holds the question until there is something to tell. */
export async function askBuild(
  env: Env,
  base: string,
  subject: Subject,
  offset: number,
): Promise<BuildReportAnswer> {
  try {
    return await within(TEMPLATE_LIMITS.newsMs + LIMITS.hostCallMs, async (signal) => {
      const url = hostUrl(base, "templates", subject.id);
      url.searchParams.set("offset", String(offset));
      url.searchParams.set("waitMs", String(TEMPLATE_LIMITS.newsMs));
      const response = await call(env, url, subject, { signal });
      const text = await response.text();
      if (response.status === 404) return { type: "missing" };
      return { type: "ok", report: BuildReport.parse(JSON.parse(text)) };
    });
  } catch (error) {
    noteFault("GET /templates/:id", error);
    return { type: "unreachable" };
  }
}

/** Tells a host to end a build and to forget its template: resolves when the host has. */
export async function dropTemplate(env: Env, base: string, subject: Subject): Promise<void> {
  await within(LIMITS.backgroundReleaseMs, async (signal) => {
    const url = hostUrl(base, "templates", subject.id);
    const response = await call(env, url, subject, { method: "DELETE", signal });
    await response.body?.cancel();
    if (response.status !== 204) throw new Error(`the host answered ${response.status}`);
  });
}
