import { GuestPath } from "@svc/contract/control-channel/file-methods.ts";
import { ApiError } from "@svc/contract/errors.ts";

/** A guest path as the document wants it, else 400. */
export function checkPath(path: string | undefined): string {
  const checked = GuestPath.safeParse(path);
  if (checked.success) return checked.data;
  const reason = path === undefined ? "is required" : checked.error.issues[0]?.message;
  throw new ApiError("ValidationError", `path: ${reason}`, { field: "path" });
}
