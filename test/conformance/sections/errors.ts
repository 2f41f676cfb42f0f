import { ErrorBody } from "@svc/contract/errors.ts";
import { describe, expect, test } from "vitest";
import type { Service } from "../caller.ts";
import { notedErrors } from "../coverage.ts";

const bodies = () =>
  notedErrors().map((noted) => ({ ...noted, body: ErrorBody.parse(JSON.parse(noted.text)) }));

const RETRYABLE = new Set([502, 503, 504]);

/** Document 1: errors. Looks at every error that this run was answered. */
export function errors(service: Service): void {
  test("an unknown route is 404 with a key and 401 without", async () => {
    expect((await service.owner.get("/nowhere")).status).toBe(404);
    expect((await service.owner.get("/v1/sessions")).status).toBe(404);
    expect((await service.stranger.get("/nowhere")).status).toBe(401);
  });

  describe("every error of this run", () => {
    test("is a JSON object with a text, and a code unless the document leaves it out", () => {
      expect(bodies().length).toBeGreaterThan(100);
      const without = bodies().filter(({ body }) => body.code === undefined);
      const known = ["Unauthorized", "There is no such replay."];
      expect(without.filter(({ body }) => !known.includes(body.error))).toEqual([]);
      expect(bodies().filter(({ body }) => body.error === "")).toEqual([]);
    });

    test("is never 500 or 504, nor BrowserUnhealthy, and no browser is refused for credit", () => {
      const codes = new Set(bodies().map(({ body }) => body.code));
      expect(notedErrors().filter(({ status }) => [500, 504].includes(status))).toEqual([]);
      for (const code of ["BrowserUnhealthy", "InsufficientCredit", "NoCapacity"])
        expect(codes).not.toContain(code);
    });

    test("says retryable exactly when trying again can help", () => {
      const wrong = bodies().filter(
        ({ status, body }) =>
          (body.retryable === true) !== (RETRYABLE.has(status) || body.code === "ReplayPending"),
      );
      expect(wrong).toEqual([]);
    });

    test("of 403 is PlanLimitExceeded of POST /profiles", () => {
      const forbidden = bodies().filter(({ status }) => status === 403);
      for (const { route, body } of forbidden)
        expect([route, body.code]).toEqual(["POST /profiles", "PlanLimitExceeded"]);
    });

    test("keeps its detail to 512 characters", () => {
      expect(bodies().filter(({ body }) => (body.detail ?? "").length > 512)).toEqual([]);
    });

    test("holds no key, token or signed id", () => {
      const secrets = [service.key, service.adminToken];
      const telling = notedErrors().filter(({ text }) =>
        secrets.some((secret) => text.includes(secret)),
      );
      expect(telling).toEqual([]);
    });
  });
}
