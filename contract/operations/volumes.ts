import { LIMITS } from "../limits.ts";
import { CreateVolume, Volume, VolumeDeleted, VolumeList } from "../vm/volume.ts";
import type { Operation } from "./operation.ts";

const common = { auth: "key", bodyBytes: LIMITS.vmRequestBodyBytes } as const;

/** Document 2, Endpoints: volumes. They are mounted by `volumes[]` of a create, and only there. */
export const VOLUMES = {
  createVolume: {
    ...common,
    method: "POST",
    path: "/volumes",
    summary: "Create a volume: storage that outlives a machine.",
    request: CreateVolume,
    example: { name: "data" },
    success: { status: 201, body: Volume },
    errors: [
      "InvalidJson",
      "NotConfigured",
      "PlanLimitExceeded",
      "ControlPlaneUnavailable",
      "ObjectUnavailable",
    ],
  },
  listVolumes: {
    ...common,
    method: "GET",
    path: "/volumes",
    summary: "List the volumes of the org, newest first.",
    success: { status: 200, body: VolumeList },
    errors: ["NotConfigured", "ControlPlaneUnavailable"],
  },
  getVolume: {
    ...common,
    method: "GET",
    path: "/volumes/:id",
    summary: "Read a volume.",
    success: { status: 200, body: Volume },
    errors: ["NotConfigured", "NotFound", "ControlPlaneUnavailable"],
  },
  deleteVolume: {
    ...common,
    method: "DELETE",
    path: "/volumes/:id",
    summary: "Delete a volume and all that is in it.",
    success: { status: 200, body: VolumeDeleted },
    errors: ["NotConfigured", "NotFound", "VolumeInUse", "VolumeStatusUnknown"],
  },
} as const satisfies Record<string, Operation>;
