import { ApiError, isRefusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { mintPreviewToken } from "@svc/contract/tokens.ts";
import {
  parsePort,
  type Preview,
  PREVIEW_CREDENTIALS,
  previewLabel,
} from "@svc/contract/vm/preview.ts";
import { forgetPreview, notePreview } from "../../../control-plane/previews.ts";
import { accepted } from "../../accepted.ts";
import { baseUrlOf, type Handler } from "../../context.ts";
import { previewDomain } from "../../env.ts";
import { ownedSandbox } from "../sandboxes/owned.ts";

/** Values of `public`. Other values are ignored. */
const PUBLIC = new Map([
  ["1", true],
  ["0", false],
]);

export const previewPort: Handler = async (c) => {
  const sandbox = await ownedSandbox(c);
  const { id } = sandbox;
  const port = parsePort(c.req.param("port") ?? "");
  if (!port) {
    throw new ApiError("ValidationError", "port: an integer of 1 to 65535", { field: "port" });
  }
  const domain = previewDomain(c.env);
  if (!domain) throw new ApiError("NotConfigured", "Set SVC_PREVIEW_DOMAIN to use previews.");
  const label = await previewLabel(id);
  // Noted before the port is public: from then on every gateway must find the preview.
  await notePreview(c.env.DB, label, id);
  const published = await sandbox.ask((object) =>
    object.publish(port, PUBLIC.get(c.req.query("public") ?? "")),
  );
  if (isRefusal(published)) await forgetPreview(c.env.DB, label);
  const { isPublic } = accepted(published);
  const claims = { id, port, expiresAt: Date.now() + LIMITS.previewTokenMs };
  const token = await mintPreviewToken(c.env.SVC_SIGNING_SECRET, claims);
  const url = new URL(baseUrlOf(c));
  url.hostname = `${label}-${port}.${domain}`;
  if (!isPublic) url.searchParams.set(PREVIEW_CREDENTIALS.query, token);
  const body: Preview = { url: url.href, token };
  return c.json(body);
};
