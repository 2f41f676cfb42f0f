import { ProxyCountries } from "../browser/proxy.ts";
import { LIMITS } from "../limits.ts";
import type { Operation } from "./operation.ts";

/** Document 1, GET /proxy/countries. */
export const PROXY = {
  proxyCountries: {
    method: "GET",
    path: "/proxy/countries",
    summary: "Countries of the managed proxy, in all and by tier.",
    auth: "key",
    bodyBytes: LIMITS.requestBodyBytes,
    success: { status: 200, body: ProxyCountries },
    errors: ["ObjectUnavailable"],
  },
} as const satisfies Record<string, Operation>;
