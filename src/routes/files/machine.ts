import { ApiError } from "@svc/contract/errors.ts";
import { GuestRefused, REFUSED_HEADER } from "@svc/contract/host-protocol/files.ts";
import { logOf } from "@svc/contract/log.ts";
import { type FileClaims, readVmId } from "@svc/contract/tokens.ts";
import { hostBearer, hostUrl } from "../../../durable-objects/host-calls/slots.ts";
import { accepted } from "../../accepted.ts";
import type { AppContext } from "../../context.ts";
import { noSandbox } from "../sandboxes/owned.ts";
import { askAwake } from "../sandboxes/wake.ts";

const log = logOf("src");

/** A file at the host of its machine or session: where bytes come from or go to. */
export interface FileAtHost {
  url: URL;
  headers: { authorization: string };
  /** What a refusal of the host means, of a read. */
  refusal: (answer: Response) => Promise<ApiError>;
  /** The refusal for a host that cannot be reached, or answers against the protocol. */
  unreachable: () => ApiError;
}

/** What the guest calls a file that is not there. */
const MISSING = ["NotFound", "NotDirectory"];

/** Finds the machine of a token. Its object is asked once; the bytes pass the Worker alone. */
export async function fileAtHost(
  c: AppContext,
  { id, org }: FileClaims,
  path: string,
): Promise<FileAtHost> {
  const owner = await readVmId(c.env.SVC_SIGNING_SECRET, id);
  if (owner?.org !== org) throw noSandbox();
  const place = accepted(await askAwake(c.env, id, async (sandbox) => sandbox.locate()));
  const url = hostUrl(place.url, "vms", id, "files");
  url.searchParams.set("path", path);
  const authorization = `Bearer ${await hostBearer(c.env, { id, org })}`;
  const refusal = (answer: Response): Promise<ApiError> => hostRefusal(answer, unread);
  return { url, headers: { authorization }, refusal, unreachable };
}

const unreachable = (): ApiError =>
  new ApiError("HostUnreachable", "The machine cannot be reached. Try again.");

const unread = (detail: string, code: string): ApiError =>
  MISSING.includes(code)
    ? new ApiError("NotFound", "There is no such file.", { detail })
    : new ApiError("GuestRefused", "The file cannot be read.", { detail });

/** What a host's refusal means: `refused` makes the error of what the guest itself refused. */
export async function hostRefusal(
  answer: Response,
  refused: (words: string, code: string) => ApiError,
): Promise<ApiError> {
  const { status } = answer;
  const text = await answer.text().catch(() => "");
  const guest = guestRefused(text) ?? fromHeader(answer);
  // The machine was paused before the transfer, or during it.
  if (status === 409) return new ApiError("NotRunning", "The sandbox is paused. Resume it.");
  if (guest && (status === 400 || status === 404)) return refused(guest.error, guest.code);
  if (status === 404) return new ApiError("NotRunning", "The machine has ended.");
  // Without the words: they name files of the customer.
  log.warn("host_refused", { call: "/vms/:id/files", status, code: guest?.code });
  return unreachable();
}

function guestRefused(text: string): GuestRefused | null {
  try {
    return GuestRefused.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** An answer to HEAD has no body. */
function fromHeader({ headers }: Response): GuestRefused | null {
  const code = headers.get(REFUSED_HEADER);
  return code === null ? null : { error: code, code };
}

/** `vms` or `slots`, for the log. */
export const kindIn = ({ pathname }: URL): string => pathname.split("/")[1] ?? "";
