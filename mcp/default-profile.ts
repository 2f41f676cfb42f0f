import type { Svc } from "@svc/sdk/svc.ts";
import { type ToolContext, ToolError } from "./tool.ts";

/** The profile of a browser, as its create echoes it. */
export interface ChosenProfile {
  profileId?: string;
  profileSource?: "explicit" | "default";
  defaultOrigin?: "header" | "query" | "env";
}

/** The profile that a call names, else the configured one, by its id or its name. */
export async function chooseProfile(
  { svc, signal, defaultProfile }: Pick<ToolContext, "svc" | "signal" | "defaultProfile">,
  named: string | undefined,
): Promise<ChosenProfile> {
  if (named !== undefined) return { profileId: named, profileSource: "explicit" };
  if (!defaultProfile) return {};
  const { name, origin } = defaultProfile;
  const profileId = await idOf(svc, name, signal);
  if (profileId === undefined)
    throw new ToolError(
      "ProfileNotFound",
      `The default profile ${JSON.stringify(name)} (${WHERE[origin]}) matches no saved profile by name or id.`,
    );
  return { profileId, profileSource: "default", defaultOrigin: origin };
}

const WHERE = {
  header: "x-svc-default-profile",
  query: "?defaultProfile",
  env: "SVC_DEFAULT_PROFILE",
} as const;

async function idOf(svc: Svc, name: string, signal: AbortSignal): Promise<string | undefined> {
  const { items } = await svc.profiles.list({ signal }).page();
  const found = items.find(({ id }) => id === name) ?? items.find((item) => item.name === name);
  return found?.id;
}
