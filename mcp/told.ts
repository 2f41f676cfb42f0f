import type { ApiErrorFacts } from "@svc/sdk/errors.ts";

/** An error as a tool tells it. */
export interface Told {
  code: string;
  reason: string;
  /** The REST error body. */
  body: ApiErrorFacts["body"];
  /** The HTTP status that goes with the code. */
  status: number;
}
