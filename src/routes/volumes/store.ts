import { ApiError, type ErrorContext } from "@svc/contract/errors.ts";
import { VolumeId } from "@svc/contract/vm/volume.ts";

/** Every volumes route is 501 where there is nowhere to keep their bytes (document 2, GET /volumes). */
export function requireVolumeStore(env: Partial<Pick<Env, "OBJECTS">>): void {
  if (env.OBJECTS) return;
  const text = "volumes are not configured on this deployment.";
  throw new ApiError("NotConfigured", text, { field: "volumes" });
}

/** The volume that a path names. 404 for a text that is no id. */
export function volumeIdOf(text: string | undefined): string {
  const id = VolumeId.safeParse(text).data;
  if (id === undefined) throw noVolume();
  return id;
}

export const noVolume = (): ApiError => new ApiError("NotFound", "There is no such volume.");

/** The refusal for a volume that a machine has. A paused machine keeps its volumes. */
export const inUse = (holder: ErrorContext): ApiError =>
  new ApiError("VolumeInUse", "A machine has this volume. Delete the machine first.", holder);
