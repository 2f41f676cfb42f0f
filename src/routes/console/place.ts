import { isSite } from "@svc/contract/browser/login.ts";
import { ApiError } from "@svc/contract/errors.ts";
import type { LoginPlace } from "../../../control-plane/logins.ts";
import type { AppContext } from "../../context.ts";

/** The login of a path, of the caller's org. */
export const placeOf = (c: AppContext): LoginPlace => ({
  orgId: c.get("caller").orgId,
  profileId: c.req.param("profileId") ?? "",
  site: c.req.param("site") ?? "",
});

/** The same of a login that is to be saved, whose site must be a host's name. */
export function newPlaceOf(c: AppContext): LoginPlace {
  const place = placeOf(c);
  if (isSite(place.site)) return place;
  const text = "site: is no name of a host, in lower case and without a port";
  throw new ApiError("ValidationError", text, { field: "site" });
}
