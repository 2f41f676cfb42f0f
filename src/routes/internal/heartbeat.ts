import { ApiError } from "@svc/contract/errors.ts";
import { AnyHeartbeat, HostId } from "@svc/contract/host-protocol/heartbeat.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { reach } from "../../objects.ts";

export const heartbeat: Handler = async (c) => {
  const hostId = HostId.safeParse(c.req.param("hostId"));
  if (!hostId.success) {
    const text = "hostId: lower case letters, digits and dashes, at most 63";
    throw new ApiError("ValidationError", text, { field: "hostId" });
  }
  const beat = await parseBody(c, AnyHeartbeat);
  return c.json(await reach(() => c.env.HOSTS.getByName(hostId.data).heartbeat(hostId.data, beat)));
};
