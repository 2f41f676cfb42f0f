import { LIMITS } from "@svc/contract/limits.ts";
import { type FileClaims, mintFileToken } from "@svc/contract/tokens.ts";
import type { SignedFileUrl } from "@svc/contract/vm/files.ts";
import { type AppContext, baseUrlOf, type Handler } from "../../context.ts";
import { noSandbox, ownedSandbox } from "../sandboxes/owned.ts";
import { checkPath } from "./path.ts";

export const fileDownloadUrl: Handler = (c) => mint(c, "download", true);
export const fileUploadUrl: Handler = (c) => mint(c, "upload", c.req.query("path") !== undefined);

/** Signs a URL for one path, or for any. Nothing in the guest is touched, and it is no use of the machine. */
async function mint(c: AppContext, mode: FileClaims["mode"], hasPath: boolean): Promise<Response> {
  const sandbox = await ownedSandbox(c);
  const path = hasPath ? checkPath(c.req.query("path")) : null;
  if (!(await sandbox.ask((object) => object.kind()))) throw noSandbox();
  const { id, org } = sandbox;
  const expiresAt = Date.now() + LIMITS.fileUrlMs;
  const claims = { org, id, mode, path, expiresAt };
  const token = await mintFileToken(c.env.SVC_SIGNING_SECRET, claims);
  const body: SignedFileUrl = {
    url: `${baseUrlOf(c)}/files/${mode}?token=${token}`,
    expiresAt: new Date(expiresAt).toISOString(),
  };
  return c.json(body);
}
