import { ApiError } from "@svc/contract/errors.ts";

/** Whatever is wrong with a signed URL, or with its object, it says no more. */
export const invalidUrl = (): ApiError =>
  new ApiError("ObjectNotFound", "The URL is not valid any more.");
