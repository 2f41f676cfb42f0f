import { errorResponse } from "@svc/contract/errors.ts";
import * as volumes from "../../../control-plane/volumes.ts";
import { statusUnknown, volumesRefused } from "../../../durable-objects/sandbox/volumes.ts";
import type { Handler } from "../../context.ts";
import { inUse, requireVolumeStore, volumeIdOf } from "./store.ts";

/** A second look helps when the holder turned out to be over. */
const TRIES = 2;

export const deleteVolume: Handler = async (c) => {
  requireVolumeStore(c.env);
  const id = volumeIdOf(c.req.param("id"));
  const { orgId } = c.get("caller");
  for (let tries = 0; tries < TRIES; tries += 1) {
    const remove = volumes.deleteVolume(c.env.DB, orgId, id, Date.now());
    const isDeleted = await remove.catch(() => null);
    if (isDeleted === null) return errorResponse(statusUnknown().refused);
    if (isDeleted) return c.json({ ok: true });
    const refused = (await volumesRefused(c.env, orgId, [id]))?.refused;
    if (refused?.code === "VolumeAlreadyAttached") throw inUse(refused.context);
    if (refused) return errorResponse(refused);
  }
  return errorResponse(statusUnknown().refused);
};
