import { ErrorBody, ERRORS } from "@svc/contract/errors.ts";
import { OPERATIONS } from "@svc/contract/operations/index.ts";
import type { Operation } from "@svc/contract/operations/operation.ts";
import { describe, expect, test } from "vitest";
import { type Noted, notedAnswers, notedErrors } from "../coverage.ts";
import type { VmService } from "../vm-caller.ts";

const OPERATION_OF: Record<string, Operation> = Object.fromEntries(
  Object.values(OPERATIONS).map((operation) => [
    `${operation.method} ${operation.path}`,
    operation,
  ]),
);
const ANYWHERE = ["PayloadTooLarge"];
const bodies = () =>
  notedErrors().map((noted) => ({ ...noted, body: ErrorBody.parse(JSON.parse(noted.text)) }));
const ofOperations = () => bodies().filter(({ route }) => OPERATION_OF[route]);

/** Document 1, errors, as document 2 has them too. Looks at every answer of this run. */
export function errors(service: VmService): void {
  describe("every success of this run", () => {
    test("has the status and the body that the contract says", () => {
      const good = notedAnswers().filter(({ status }) => status < 400);
      expect(good.length).toBeGreaterThan(100);
      expect(good.flatMap(whyNot)).toEqual([]);
    });
  });

  describe("every error of this run", () => {
    test("is a JSON object with a text, and a code unless it is 401", () => {
      expect(bodies().length).toBeGreaterThan(100);
      const without = bodies().filter(({ status, code }) => code === null && status !== 401);
      expect(without).toEqual([]);
      expect(bodies().filter(({ body }) => body.error === "")).toEqual([]);
    });

    test("has the status of its code, and is one that its operation may answer", () => {
      const strange = ofOperations().filter(({ route, status, code }) => {
        if (code === null) return false;
        const known: readonly string[] = [...(OPERATION_OF[route]?.errors ?? []), ...ANYWHERE];
        return !known.includes(code) || statusOf(code) !== status;
      });
      expect(strange).toEqual([]);
    });

    test("is never 500", () => {
      expect(bodies().filter(({ status }) => status === 500)).toEqual([]);
    });

    test("says retryable exactly when trying again can help: 5xx, and a lack of this host", () => {
      const wrong = ofOperations().filter(
        ({ status, body }) =>
          (body.retryable === true) !== (status >= 500 || body.code === "HostCapabilityMissing"),
      );
      expect(wrong).toEqual([]);
    });

    test("keeps its detail to 512 characters", () => {
      expect(bodies().filter(({ body }) => (body.detail ?? "").length > 512)).toEqual([]);
    });

    test("holds no token of the operator's, and nothing of where a host is", () => {
      const secrets = [`"${service.adminToken}"`, "127.0.0.1", "at file:", "Error:"];
      const telling = bodies().filter(({ text }) =>
        secrets.some((secret) => text.includes(secret)),
      );
      expect(telling).toEqual([]);
    });
  });
}

/** What of a success the contract does not know. */
function whyNot({ route, status, text }: Noted): string[] {
  const operation = OPERATION_OF[route];
  if (!operation) return [`${route} is no operation`];
  const { success } = operation;
  if (success.status !== status) return [`${route} ${status}`];
  const parsed = success.body?.safeParse(JSON.parse(text));
  return parsed?.error ? [`${route}: ${parsed.error.message}`] : [];
}

const statusOf = (code: string): number | undefined =>
  Object.entries(ERRORS).find(([name]) => name === code)?.[1].status;
