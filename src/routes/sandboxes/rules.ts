import { ApiError, isApiError } from "@svc/contract/errors.ts";
import { creditLeft } from "../../../control-plane/usage.ts";
import type { AppContext } from "../../context.ts";
import { requireFeature } from "../sessions/rules.ts";
import type { WantedSandbox } from "./read-create.ts";

/** What the org may have, in the order of document 2: product, feature, credit, then what the request names. */
export async function checkAdmission(c: AppContext, wanted: WantedSandbox): Promise<void> {
  const { plan } = c.get("caller");
  const { features } = plan;
  if (!features.includes("sandboxes") && !features.includes("desktops")) {
    throw new ApiError("NotEntitled", "This plan has neither sandboxes nor desktops.");
  }
  requireFeature(plan, wanted.kind === "desktop" ? "desktops" : "sandboxes");
  await requireCredit(c);
  checkNames(wanted);
}

async function requireCredit(c: AppContext): Promise<void> {
  const { isPrepaid, orgId } = c.get("caller");
  if (!isPrepaid) return;
  const cents = await creditOf(c, orgId);
  if (cents !== null && cents <= 0)
    throw new ApiError("InsufficientCredit", "The org's credit is used up.");
}

/** Admission fails closed: what cannot be asked is no yes. */
async function creditOf(c: AppContext, orgId: string): Promise<number | null> {
  try {
    return await creditLeft(c.env.DB, orgId, Date.now());
  } catch (error) {
    if (!isApiError(error)) throw error;
    throw new ApiError("AdmissionUnavailable", "The credit could not be checked. Try again.");
  }
}

/** Templates, snapshots and volumes: this version makes none, so that no id of one is known. */
function checkNames({ source, volumes }: WantedSandbox): void {
  if (source.type === "template") throw new ApiError("NotFound", "There is no such template.");
  if (source.type === "snapshot") throw new ApiError("NotFound", "There is no such snapshot.");
  if (volumes.length === 0) return;
  const text = "volumes are not configured on this deployment.";
  throw new ApiError("NotConfigured", text, { field: "volumes" });
}
