import { ERRORS, type ErrorBody, type ErrorCode, errorBody } from "@svc/contract/errors.ts";

/** Why a profile is not loaded: it cannot be, or not now. */
export type ProfileFaultCode = Extract<ErrorCode, "ProfileUnloadable" | "ProfileUnavailable">;

/** A profile that is not in a browser. The texts name fields and limits, never what the state holds. */
export class ProfileFault extends Error {
  readonly code: ProfileFaultCode;

  constructor(code: ProfileFaultCode, message: string) {
    super(message);
    this.code = code;
  }

  /** The answer to the placement, which the gateway forwards as it is. */
  get answer(): { status: number; body: ErrorBody } {
    const { code, message } = this;
    return { status: ERRORS[code].status, body: errorBody({ code, message, context: {} }) };
  }
}
