import { ApiError, refusalError } from "@svc/contract/errors.ts";
import { volumesRefused } from "../../../durable-objects/sandbox/volumes.ts";
import type { AppContext } from "../../context.ts";
import type { WantedSandbox } from "../sandboxes/read-create.ts";
import { requireVolumeStore } from "./store.ts";

const MOUNT = ["volumes.mount"];

/**
 * Throws why a create cannot have its volumes, as far as is known before it has its place: 501, 404, 409 (document 2).
 * Hosts of desktops lack the build that mounts.
 */
export async function checkVolumes(
  c: AppContext,
  { kind, volumes }: Pick<WantedSandbox, "kind" | "volumes">,
): Promise<void> {
  if (volumes.length === 0) return;
  requireVolumeStore(c.env);
  const ids = volumes.map(({ volumeId }) => volumeId);
  const refused = (await volumesRefused(c.env, c.get("caller").orgId, ids))?.refused;
  if (kind === "desktop" && refused?.code !== "NotFound" && refused?.code !== "VolumeStatusUnknown")
    throw new ApiError("HostCapabilityMissing", "Hosts of desktops mount no volumes.", {
      missingCapabilities: MOUNT,
    });
  if (refused) throw refusalError(refused);
}
