import { findVolume } from "../../../control-plane/volumes.ts";
import type { Handler } from "../../context.ts";
import { noVolume, requireVolumeStore, volumeIdOf } from "./store.ts";

export const getVolume: Handler = async (c) => {
  requireVolumeStore(c.env);
  const id = volumeIdOf(c.req.param("id"));
  const volume = await findVolume(c.env.DB, c.get("caller").orgId, id);
  if (!volume) throw noVolume();
  return c.json(volume);
};
