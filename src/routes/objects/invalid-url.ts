import { ApiError } from "@svc/contract/errors.ts";

/** The one answer to any fault of a signed URL or its object: it says no more. */
export const invalidUrl = (): ApiError =>
  new ApiError("ObjectNotFound", "The URL is not valid any more.");
