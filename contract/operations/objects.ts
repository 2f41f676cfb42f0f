import { CompleteObject, ObjectStored } from "../host-protocol/objects.ts";
import { LIMITS } from "../limits.ts";
import type { Operation } from "./operation.ts";

/** Signed URLs: the token is the credential (decisions, additive routes). */
export const OBJECTS = {
  getObject: {
    method: "GET",
    path: "/objects/:token",
    summary: "Fetch a stored object by a signed URL.",
    auth: "objectUrl",
    bodyBytes: LIMITS.requestBodyBytes,
    success: { status: 200, body: null },
    errors: ["ObjectNotFound", "RangeNotSatisfiable", "ControlPlaneUnavailable"],
  },
  playReplay: {
    method: "GET",
    path: "/replay/:token",
    summary: "A page that plays a replay, by its playerUrl.",
    auth: "objectUrl",
    bodyBytes: LIMITS.requestBodyBytes,
    success: { status: 200, body: null },
    errors: ["ObjectNotFound", "ControlPlaneUnavailable"],
  },
  putObject: {
    method: "PUT",
    path: "/objects/:token",
    summary:
      "Store an object, or a part of one, by a signed URL: exactly as many bytes as it was signed for.",
    auth: "objectUrl",
    bodyBytes: LIMITS.objectPartBytes,
    isRaw: true,
    success: { status: 200, body: ObjectStored },
    errors: [
      "ValidationError",
      "ObjectNotFound",
      "ObjectChanged",
      "UploadVoid",
      "ControlPlaneUnavailable",
    ],
  },
  completeObject: {
    method: "POST",
    path: "/objects/:token",
    summary: "Put the parts of an object together, by a signed URL.",
    auth: "objectUrl",
    bodyBytes: LIMITS.hostBodyBytes,
    request: CompleteObject,
    success: { status: 200, body: ObjectStored },
    errors: [
      "InvalidJson",
      "ValidationError",
      "ObjectNotFound",
      "UploadVoid",
      "ControlPlaneUnavailable",
    ],
  },
} as const satisfies Record<string, Operation>;
