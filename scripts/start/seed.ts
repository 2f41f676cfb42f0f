import { KeyCreated, Org, OrgList } from "@svc/contract/admin/orgs.ts";
import { OPERATIONS } from "@svc/contract/operations/index.ts";
import type { StateDir } from "./state.ts";

/** The file of the key, in the state folder. */
export const KEY_FILE = "dev.key";
const ORG = "local";

/** The key of this machine's one org. */
export interface DevKey {
  key: string;
  /** Made at this start: nobody has seen it yet. */
  isNew: boolean;
}

/** The key in the state folder; a new one where there is none, or the database does not know it any more. */
export async function devKey(state: StateDir, base: string): Promise<DevKey> {
  const known = state.read(KEY_FILE);
  if (known && (await opens(base, known))) return { key: known, isNew: false };
  const ask = operator(state, base);
  const { orgs } = OrgList.parse(await ask("/admin/orgs"));
  const wanted = { name: ORG, plan: "professional" };
  const org = orgs.find(({ name }) => name === ORG);
  const { orgId } = org ?? Org.parse(await ask("/admin/orgs", wanted));
  const { key } = KeyCreated.parse(await ask(`/admin/orgs/${orgId}/keys`, { name: "dev" }));
  state.write(KEY_FILE, key);
  return { key, isNew: true };
}

/** Whether the gateway takes the key. One that cannot say at the moment has not refused it. */
async function opens(base: string, key: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(new URL(OPERATIONS.proxyCountries.path, base), { headers });
  await response.body?.cancel();
  return response.status !== 401;
}

/** Calls of the operator API: GET, or POST where there is a body. */
function operator(state: StateDir, base: string) {
  const headers = {
    authorization: `Bearer ${state.secrets.SVC_ADMIN_TOKEN}`,
    "content-type": "application/json",
  };
  return async (path: string, body?: object): Promise<unknown> => {
    const sent = body && { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(new URL(path, base), { headers, ...sent });
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
    return response.json();
  };
}
