import { refusalError } from "@svc/contract/errors.ts";
import { CreateVolume } from "@svc/contract/vm/volume.ts";
import { planLimit } from "../../../control-plane/kept.ts";
import * as volumes from "../../../control-plane/volumes.ts";
import { storageFull } from "../../../durable-objects/org/storage.ts";
import { parseObject } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { requireVolumeStore } from "./store.ts";

export const createVolume: Handler = async (c) => {
  requireVolumeStore(c.env);
  const asked = await parseObject(c, CreateVolume);
  const { orgId: org, planName, plan } = c.get("caller");
  const { storedGib, volumes: cap } = plan;
  const full = await storageFull(c.env, { org, plan: planName, storedGib });
  if (full) throw refusalError(full.refused);
  const volume = await volumes.createVolume(c.env.DB, org, asked, { cap, now: Date.now() });
  if (!volume) throw refusalError(planLimit("volume", { plan: planName, cap }).refused);
  return c.json(volume, 201);
};
