import * as z from "zod";
import { ExitOffer } from "../host-protocol/exits.ts";
import { KindReport } from "../host-protocol/heartbeat.ts";
import { ImageReport, VmHeartbeat } from "../host-protocol/vms.ts";

/** A registered host, as the fleet knows it. */
export const HostRecord = z.object({
  hostId: z.string(),
  type: z.enum(["pool", "vm"]),
  url: z.string(),
  versions: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  isolation: z.string().exactOptional(),
  memoryCap: z.boolean().exactOptional(),
  egressAllow: z.array(z.string()).exactOptional(),
  exits: z.array(ExitOffer).exactOptional(),
  captcha: z.boolean().exactOptional(),
  keeps: z.array(z.string()).exactOptional(),
  draining: z.boolean(),
  kinds: z.partialRecord(z.enum(["fast", "stealth"]), KindReport).exactOptional(),
  /** VM hosts. */
  accel: VmHeartbeat.shape.accel,
  platform: VmHeartbeat.shape.platform,
  capabilities: z.array(z.string()).exactOptional(),
  egress: z.string().exactOptional(),
  weaknesses: z.array(z.string()).exactOptional(),
  warm: z.number().exactOptional(),
  free: VmHeartbeat.shape.free.exactOptional(),
  images: z.array(ImageReport).exactOptional(),
  templates: VmHeartbeat.shape.templates,
  /** Why it can serve nothing at all. */
  hint: z.string().exactOptional(),
  /** Milliseconds since the epoch. */
  seenAt: z.number(),
});
export type HostRecord = z.infer<typeof HostRecord>;

/** 200 of GET /admin/hosts. */
export const HostList = z.object({ hosts: z.array(HostRecord) });
export type HostList = z.infer<typeof HostList>;
