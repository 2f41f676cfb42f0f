import { KeyCreated, Org } from "@svc/contract/admin/orgs.ts";
import type { StateDir } from "./state.ts";

const KEY_FILE = "dev.key";

/** The key of this machine's one org, both made by the operator API at the first start. */
export async function devKey(state: StateDir, base: string): Promise<string> {
  const known = state.read(KEY_FILE);
  if (known) return known;
  const post = async (path: string, body: object): Promise<unknown> => {
    const response = await fetch(new URL(path, base), {
      method: "POST",
      headers: {
        authorization: `Bearer ${state.secrets.SVC_ADMIN_TOKEN}`,
        "content-type": "application/json",
      },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`POST ${path} answered ${response.status}`);
    return response.json();
  };
  const { orgId } = Org.parse(await post("/admin/orgs", { name: "local", plan: "professional" }));
  const { key } = KeyCreated.parse(await post(`/admin/orgs/${orgId}/keys`, { name: "dev" }));
  state.write(KEY_FILE, key);
  return key;
}
