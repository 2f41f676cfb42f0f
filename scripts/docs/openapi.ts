import { ErrorBody, ERRORS, type ErrorCode } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { SUBJECTS } from "@svc/contract/operations/index.ts";
import type { Auth, Operation } from "@svc/contract/operations/operation.ts";
import * as z from "zod";
import { PUBLIC, statusesOf } from "./operations.ts";

type Json = Record<string, unknown>;

const schemaOf = (schema: z.ZodType, io: "input" | "output"): Json => {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return json;
};
const content = (schema: Json, example?: Json) => ({
  content: { "application/json": { schema, ...(example && { example }) } },
});

/** The OpenAPI 3.1 document of every public operation. */
export function openapi(): Json {
  const paths: Record<string, Json> = {};
  for (const [name, op] of PUBLIC) {
    const path = op.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [op.method.toLowerCase()]: describe(name, op) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "svc",
      version: "1",
      description: DESCRIPTION,
      license: LICENSE,
    },
    tags: Object.keys(SUBJECTS).map((name) => ({ name })),
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: KEY },
        console: { type: "http", scheme: "bearer", description: CONSOLE },
        operator: { type: "http", scheme: "bearer", description: OPERATOR },
      },
      schemas: { Error: schemaOf(ErrorBody, "output") },
    },
  };
}

const DESCRIPTION = `Browsers, sandboxes and desktops on demand.

An error is \`{ error, code?, retryable?, … }\`. Try again only when \`retryable\` is true or the status is 502, 503 or 504. An id of
another org gets the same 404 as an id that never was.`;

const KEY = "An API key, `svc_live_…`. `npm start` keeps one in `.svc/dev.key`.";
const CONSOLE = "A token of the console, from `POST /console/api/token`.";
const OPERATOR = "The operator's token, `SVC_ADMIN_TOKEN`: for the operator API alone.";
/** Credentials that stand in `Authorization`. */
const BEARERS: readonly Auth[] = ["key", "console", "operator", "host"];
const BYTES = { content: { "application/octet-stream": { schema: {} } } };
const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "A text of your own: for a day, creates with the same one make one thing.",
  schema: { type: "string", maxLength: LIMITS.idempotencyKeyCharacters },
};
const LICENSE = { name: "Apache-2.0", identifier: "Apache-2.0" };

function describe(operationId: string, op: Operation): Json {
  const schema = { type: "string" };
  const inPath = [...op.path.matchAll(/:(\w+)/g)].map(([, name]) => {
    return { name, in: "path", required: true, schema };
  });
  const inQuery = Object.entries(op.query ?? {}).map(([name, { isRequired, description }]) => {
    return { name, in: "query", required: isRequired ?? false, description, schema };
  });
  const parameters = [...inPath, ...inQuery, ...(op.idempotent ? [IDEMPOTENCY_KEY] : [])];
  return {
    operationId,
    tags: [subjectOf(operationId)],
    ...told(op.summary),
    ...(!BEARERS.includes(op.auth) && { security: [] }),
    ...(op.auth === "console" && { security: [{ console: [] }] }),
    ...(op.auth === "operator" && { security: [{ operator: [] }] }),
    ...(parameters.length > 0 && { parameters }),
    ...(op.request && { requestBody: content(schemaOf(op.request, "input"), op.example) }),
    ...(op.isRaw && { requestBody: BYTES }),
    responses: { [op.success.status]: success(op), ...refusals(op) },
  };
}

function subjectOf(operationId: string): string {
  const found = Object.entries(SUBJECTS).find(([, group]) => Object.hasOwn(group, operationId));
  if (!found) throw new Error(`contract/operations/index.ts gives ${operationId} no subject`);
  return found[0];
}

/** The first sentence is what lists show; a summary of several stands in the description as a whole. */
function told(text: string): Json {
  const [first = ""] = /^.*?[.](?= |$)/.exec(text) ?? [text];
  return { summary: first, ...(first !== text && { description: text }) };
}

function success({ success: { body } }: Operation): Json {
  return { description: "Success.", ...(body && content(schemaOf(body, "output"))) };
}

function refusals(op: Operation): Json {
  const error = content({ $ref: "#/components/schemas/Error" });
  return Object.fromEntries(
    statusesOf(op).map(([status, codes]) => [status, { description: named(codes), ...error }]),
  );
}

const named = (codes: ErrorCode[]): string =>
  codes.map((code) => (ERRORS[code].retryable ? `${code} (retryable)` : code)).join(", ");
