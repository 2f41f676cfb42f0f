import {
  PROXY_COUNTRIES,
  type ProxyCountries,
  type ProxyTier,
} from "@svc/contract/browser/proxy.ts";
import { registeredHosts } from "../../../durable-objects/fleet/registry.ts";
import type { Handler } from "../../context.ts";
import { reach } from "../../objects.ts";

/** A tier is served where a registered pool has an exit for it; its URL template takes any country. */
export const proxyCountries: Handler = async (c) => {
  const hosts = await reach(() => registeredHosts(c.env));
  const served = new Set(hosts.flatMap((host) => host.proxyTiers ?? []));
  const countriesOf = (tier: ProxyTier) => (served.has(tier) ? [...PROXY_COUNTRIES] : []);
  const body: ProxyCountries = {
    enabled: served.size > 0,
    countries: served.size > 0 ? [...PROXY_COUNTRIES] : [],
    tiers: {
      residential: countriesOf("residential"),
      mobile: countriesOf("mobile"),
      static: countriesOf("static"),
    },
  };
  return c.json(body);
};
