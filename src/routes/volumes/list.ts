import type { VolumeList } from "@svc/contract/vm/volume.ts";
import * as volumes from "../../../control-plane/volumes.ts";
import type { Handler } from "../../context.ts";
import { requireVolumeStore } from "./store.ts";

export const listVolumes: Handler = async (c) => {
  requireVolumeStore(c.env);
  const all = await volumes.listVolumes(c.env.DB, c.get("caller").orgId);
  return c.json({ volumes: all } satisfies VolumeList);
};
