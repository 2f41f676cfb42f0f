import { ErrorBody, ERRORS, type ErrorCode } from "@svc/contract/errors.ts";
import type { Auth, Operation } from "@svc/contract/operations/operation.ts";
import * as z from "zod";
import { PUBLIC, statusesOf } from "./operations.ts";

type Json = Record<string, unknown>;

const schemaOf = (schema: z.ZodType, io: "input" | "output"): Json => {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return json;
};
const content = (schema: Json) => ({ content: { "application/json": { schema } } });

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
      description: "Browsers, sandboxes and desktops on demand.",
      license: LICENSE,
    },
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "svc_live_<id>_<secret>" },
        console: { type: "http", scheme: "bearer", description: "of POST /console/api/token" },
        operator: { type: "http", scheme: "bearer", description: "SVC_ADMIN_TOKEN" },
      },
      schemas: { Error: schemaOf(ErrorBody, "output") },
    },
  };
}

/** Credentials that stand in `Authorization`. */
const BEARERS: readonly Auth[] = ["key", "console", "operator", "host"];
const BYTES = { content: { "application/octet-stream": { schema: {} } } };
const LICENSE = { name: "Apache-2.0", identifier: "Apache-2.0" };

function describe(operationId: string, op: Operation): Json {
  const schema = { type: "string" };
  const inPath = [...op.path.matchAll(/:(\w+)/g)].map(([, name]) => {
    return { name, in: "path", required: true, schema };
  });
  const inQuery = Object.entries(op.query ?? {}).map(([name, { isRequired, description }]) => {
    return { name, in: "query", required: isRequired ?? false, description, schema };
  });
  const parameters = [...inPath, ...inQuery];
  return {
    operationId,
    summary: op.summary,
    ...(!BEARERS.includes(op.auth) && { security: [] }),
    ...(op.auth === "console" && { security: [{ console: [] }] }),
    ...(op.auth === "operator" && { security: [{ operator: [] }] }),
    ...(parameters.length > 0 && { parameters }),
    ...(op.request && { requestBody: content(schemaOf(op.request, "input")) }),
    ...(op.isRaw && { requestBody: BYTES }),
    responses: { [op.success.status]: success(op), ...refusals(op) },
  };
}

function success({ success: { body } }: Operation): Json {
  return { description: "Success.", ...(body && content(schemaOf(body, "output"))) };
}

function refusals(op: Operation): Json {
  const error = content({ $ref: "#/components/schemas/Error" });
  return Object.fromEntries(
    statusesOf(op).map(([status, codes]) => [status, { description: told(codes), ...error }]),
  );
}

const told = (codes: ErrorCode[]): string =>
  codes.map((code) => (ERRORS[code].retryable ? `${code} (retryable)` : code)).join(", ");
