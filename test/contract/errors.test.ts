import {
  ApiError,
  ERRORS,
  type ErrorCode,
  errorBody,
  errorResponse,
  isApiError,
  isRefusal,
  refusal,
} from "@svc/contract/errors.ts";
import { expect, test } from "vitest";

const codes = Object.keys(ERRORS) as ErrorCode[];

const coded = codes.filter((code) => code !== "Unauthorized" && code !== "ReplayNotFound");

test.each(coded)(
  "%s answers its status with error, code, and retryable when it is, or when the document says that it is not",
  async (code) => {
    const { status, retryable } = ERRORS[code];
    const response = errorResponse(new ApiError(code, "text"));
    expect(response.status).toBe(status);
    const isTold = retryable || code === "SnapshotNotRestorable";
    const body = { error: "text", code, ...(isTold && { retryable }) };
    expect(await response.json()).toEqual(body);
  },
);

test("Unauthorized says nothing more", async () => {
  const response = errorResponse(new ApiError("Unauthorized", "text", { hint: "x" }));
  expect(response.status).toBe(401);
  expect(await response.text()).toBe('{"error":"Unauthorized"}');
});

test("a replay that is not there has no code", async () => {
  const response = errorResponse(new ApiError("ReplayNotFound", "text", { hint: "x" }));
  expect(response.status).toBe(404);
  expect(await response.text()).toBe('{"error":"text"}');
});

// Documents 1 and 2, Errors: codes whose status the documents fix.
test.each<[ErrorCode, number]>([
  ["FeatureRequiresPlan", 402],
  ["ConcurrencyLimitExceeded", 429],
  ["PlanLimitExceeded", 403],
  ["ConcurrencyCheckUnavailable", 503],
  ["InvalidSessionId", 404],
  ["ReplayPending", 404],
  ["ReplayUnavailable", 404],
  ["PoolUnreachable", 503],
  ["InsufficientCredit", 402],
  ["NotEntitled", 403],
  ["ValidationError", 400],
  ["InvalidJson", 400],
  ["InvalidIdempotencyKey", 400],
  ["IdempotencyKeyReused", 409],
  ["TemplateKindMismatch", 400],
  ["TemplateNotReady", 409],
  ["TemplateBuilding", 409],
  ["SnapshotHasChildren", 409],
  ["SnapshotNotRestorable", 409],
  ["LocalFilesUnsupported", 400],
  ["RecordingRequiresDesktop", 400],
  ["RecordingRequiresGoldenBoot", 400],
  ["HostCapabilityMissing", 409],
  ["VolumeAlreadyAttached", 409],
  ["VolumeStatusUnknown", 503],
  ["VolumeInUse", 409],
  ["NoCapacity", 503],
  ["InsufficientCapacity", 507],
])("%s is %i", (code, status) => expect(ERRORS[code].status).toBe(status));

test("a 429 is never retryable, a 502, 503 or 507 always", () => {
  const retryable = (...statuses: number[]) =>
    Object.values(ERRORS)
      .filter(({ status }) => statuses.includes(status))
      .map((error) => error.retryable);
  expect(new Set(retryable(429))).toEqual(new Set([false]));
  expect(new Set(retryable(502, 503, 507))).toEqual(new Set([true]));
});

test("context stands in the body, detail is cut at 512 characters", () => {
  const error = new ApiError("PayloadTooLarge", "text", { limit: 5, detail: "x".repeat(600) });
  expect(errorBody(error)).toMatchObject({ limit: 5, detail: "x".repeat(512) });
});

test("a refusal is told from a bug by its code, whatever its class", () => {
  expect(isApiError(new ApiError("NotFound", "x"))).toBe(true);
  expect(isApiError(Object.assign(new Error("x"), { code: "NotFound" }))).toBe(true);
  expect(isApiError(Object.assign(new Error("x"), { code: "ECONNRESET" }))).toBe(false);
  expect(isApiError({ code: "NotFound" })).toBe(false);
  expect(isRefusal(refusal("NotFound", "x"))).toBe(true);
  expect(isRefusal({ created: 1 })).toBe(false);
});
