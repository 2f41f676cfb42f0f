import { Preview } from "@svc/contract/vm/preview.ts";
import { call, newOrg } from "./gateway.ts";
import { newSandbox, newVmHost } from "./vm-host.ts";

/** A sandbox with what its org does with its ports. */
export async function previewing() {
  const host = await newVmHost();
  const org = await newOrg("professional");
  const id = (await newSandbox(org.key)).sandboxId;
  const ask = (port: number | string, query = "", bearer = org.key) =>
    call(`/sandboxes/${id}/ports/${port}${query}`, { bearer });
  const mint = async (port: number | string = 3000, query = ""): Promise<Preview> => {
    const response = await ask(port, query);
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return Preview.parse(await response.json());
  };
  return { host, org, id, ask, mint };
}

/** The same URL with another query. */
export function withQuery(url: string, search: string): string {
  const made = new URL(url);
  made.search = search;
  return made.href;
}
