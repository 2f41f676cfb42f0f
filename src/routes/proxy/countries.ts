import {
  PROXY_COUNTRIES,
  type ProxyCountries,
  type ProxyCountry,
  type ProxyTier,
} from "@svc/contract/browser/proxy.ts";
import { registeredHosts } from "../../../durable-objects/fleet/registry.ts";
import type { Handler } from "../../context.ts";
import { reach } from "../../objects.ts";

/** What the registered pools are configured for, whether or not a provider answers at the moment. */
export const proxyCountries: Handler = async (c) => {
  const hosts = await reach(() => registeredHosts(c.env));
  const offers = hosts.flatMap((host) => host.exits ?? []);
  const listed = (served: ProxyCountry[]) =>
    PROXY_COUNTRIES.filter((country) => served.includes(country));
  const countriesOf = (tier: ProxyTier) =>
    listed(offers.filter((offer) => offer.tier === tier).flatMap((offer) => offer.countries));
  const body: ProxyCountries = {
    enabled: offers.length > 0,
    countries: listed(offers.flatMap((offer) => offer.countries)),
    tiers: {
      residential: countriesOf("residential"),
      mobile: countriesOf("mobile"),
      static: countriesOf("static"),
    },
  };
  return c.json(body);
};
