import { type Refusal, refusal } from "@svc/contract/errors.ts";
import { isOver, isPlaced, type LiveSandbox } from "./record.ts";
import { noSandbox, notUsable, type ResumeFirst } from "./refusals.ts";
import { useOften } from "./use.ts";

/** Where a machine is, and whose. */
export interface Located {
  url: string;
  org: string;
}

/** Where the machine is, for a request that the Worker itself takes there. It is a use. */
export async function locate(live: LiveSandbox): Promise<Located | Refusal | ResumeFirst> {
  await live.lane.settled();
  const sandbox = useOften(live);
  const refused = notUsable(sandbox);
  if (refused || !isPlaced(sandbox)) return refused ?? noSandbox();
  return { url: sandbox.place.url, org: sandbox.org };
}

/** The same for a preview. A preview that is refused is no use of the sandbox, and learns nothing of it. */
export async function visit(
  live: LiveSandbox,
  port: number,
  hasToken: boolean,
): Promise<Located | Refusal | ResumeFirst> {
  const sandbox = live.record.tick();
  if (!sandbox || isOver(sandbox)) return noSandbox();
  if (hasToken || sandbox.publicPorts?.includes(port)) return locate(live);
  return refusal("PreviewTokenRequired", "The token of this preview is missing or has expired.");
}

/** Opens a port to everyone or closes it. Without `wanted` nothing changes. Answers whether the port is public. */
export function publish(
  { record }: LiveSandbox,
  port: number,
  wanted?: boolean,
): { isPublic: boolean } | Refusal {
  const sandbox = record.tick();
  if (!sandbox || isOver(sandbox)) return noSandbox();
  const { publicPorts: before } = sandbox;
  const others = (before ?? []).filter((other) => other !== port);
  const isPublic = wanted ?? before?.includes(port) ?? false;
  const publicPorts = isPublic ? [...others, port] : others;
  if (publicPorts.length !== before?.length) record.note({ publicPorts });
  return { isPublic };
}
