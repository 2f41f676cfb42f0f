import { fleet } from "../../../durable-objects/fleet/registry.ts";
import type { Handler } from "../../context.ts";
import { reach } from "../../objects.ts";

export const listHosts: Handler = async (c) => {
  const hosts = await reach(() => fleet(c.env).list());
  // The registry is written on changes only: the last heartbeat is the host object's to say.
  const seen = await Promise.all(
    hosts.map(async (host) => ({
      ...host,
      seenAt: (await c.env.HOSTS.getByName(host.hostId).seenAt()) ?? host.seenAt,
    })),
  );
  return c.json({ hosts: seen });
};
