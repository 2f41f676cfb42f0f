import { env } from "cloudflare:workers";
import { type FileClaims, mintFileToken } from "@svc/contract/tokens.ts";
import { SignedFileUrl } from "@svc/contract/vm/files.ts";
import { call, newOrg } from "./gateway.ts";
import { newSandbox, newVmHost } from "./vm-host.ts";

/** A sandbox with what its org does with files in it. */
export async function fileSandbox() {
  const host = await newVmHost();
  const org = await newOrg("professional");
  const id = (await newSandbox(org.key)).sandboxId;
  const mint = async (mode: "download" | "upload", path?: string): Promise<string> => {
    const query = path === undefined ? "" : `?path=${encodeURIComponent(path)}`;
    const response = await call(`/sandboxes/${id}/files/${mode}-url${query}`, { bearer: org.key });
    return SignedFileUrl.parse(await response.json()).url;
  };
  const sign = (facts: Partial<FileClaims> = {}, secret = env.SVC_SIGNING_SECRET) =>
    mintFileToken(secret, {
      id,
      org: org.orgId,
      mode: "download",
      path: "/tmp/a",
      expiresAt: Date.now() + 60_000,
      ...facts,
    });
  const put = async (path: string, body: BodyInit): Promise<Response> =>
    call(await mint("upload", path), { method: "PUT", body });
  return { host, org, id, mint, sign, put };
}
