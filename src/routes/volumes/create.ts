import { CreateVolume } from "@svc/contract/vm/volume.ts";
import * as volumes from "../../../control-plane/volumes.ts";
import { parseObject } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { requireVolumeStore } from "./store.ts";

export const createVolume: Handler = async (c) => {
  requireVolumeStore(c.env);
  const asked = await parseObject(c, CreateVolume);
  const { orgId } = c.get("caller");
  return c.json(await volumes.createVolume(c.env.DB, orgId, asked, Date.now()), 201);
};
