import { env } from "cloudflare:workers";
import { Profile } from "@svc/contract/browser/profile.ts";
import { call, json } from "./gateway.ts";

/** The storage state of a browser that has one cookie. */
export const STATE = { cookies: [{ name: "a", value: "1", domain: "site.test" }], origins: [] };

/** Creates a profile. */
export async function newProfile(key: string, name = "work"): Promise<Profile> {
  const response = await call("/profiles", { ...json({ name }), bearer: key });
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
  return Profile.parse(await response.json());
}

/** Saves a storage state as the next version of a profile. */
export const saveProfile = (
  key: string,
  id: string,
  body: unknown = { storageState: STATE },
): Promise<Response> => call(`/profiles/${id}/save`, { ...json(body), bearer: key });

/** The keys under which states of a profile are stored. */
export async function statesOf(id: string): Promise<string[]> {
  const { objects } = await env.OBJECTS.list();
  return objects.map(({ key }) => key).filter((key) => key.includes(id));
}

/** Locks a profile until a time, as an open editor does; null unlocks it. */
export async function lockForEditor(id: string, until: number | null): Promise<void> {
  const sql = "UPDATE profiles SET editor_until = ? WHERE id = ?";
  await env.DB.prepare(sql).bind(until, id).run();
}
