import { DesktopCreated, DesktopRecord } from "@svc/contract/vm/desktop.ts";
import { call, newOrg } from "./gateway.ts";
import { newVmHost } from "./vm-host.ts";

/** A desktop that runs, alone on its host, with what its org does with it. */
export async function runningDesktop(vms = 1) {
  const host = await newVmHost({ capabilities: ["desktop"] });
  const { key, orgId } = await newOrg("professional", { vms });
  const made = await call("/desktops", { method: "POST", bearer: key });
  const { sessionId: id } = DesktopCreated.parse(await made.json());
  const path = `/desktops/${id}`;
  const act = (what: string) => call(`${path}/${what}`, { method: "POST", bearer: key });
  const read = async () => DesktopRecord.parse(await (await call(path, { bearer: key })).json());
  return { host, key, orgId, id, path, act, read };
}

/** The bytes of the answer for an id that is no desktop. */
export const NO_DESKTOP = '{"error":"There is no such desktop.","code":"NotFound"}';

/** What a refusal answers: its status, its code, and whether it may be tried again. */
export async function refusalOf(response: Response): Promise<[number, string, boolean]> {
  const { code, retryable } = await response.json<{ code: string; retryable?: boolean }>();
  return [response.status, code, retryable ?? false];
}
