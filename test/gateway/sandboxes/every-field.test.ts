import { CreateDesktop } from "@svc/contract/vm/desktop.ts";
import { CreateSandbox } from "@svc/contract/vm/create.ts";
import { LifecycleWanted } from "@svc/contract/vm/lifecycle.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { call, newOrg, unhurried } from "../../support/worker/gateway.ts";
import { newVmHost } from "../../support/worker/vm-host.ts";

/** Values as JSON spells them, so that some that no program would send are among them. */
const VALUES = [
  "null",
  "true",
  "false",
  "0",
  "-0",
  "1",
  "1.5",
  "-1",
  "1e300",
  "-1e300",
  "1e400",
  "-1e400",
  "9007199254740993",
  '""',
  '" "',
  '"1"',
  '"null"',
  '"\\u0000"',
  '"\\ud800"',
  '"__proto__"',
  '"constructor"',
  `"${"x".repeat(5000)}"`,
  "[]",
  "[null]",
  '["a"]',
  "{}",
  '{"a":null}',
  '{"__proto__":{"a":"b"}}',
  '{"constructor":1}',
  '{"__proto__":"a"}',
  '{"constructor":"a","prototype":"b"}',
  '{"nonsense":1}',
];
/** Of a number whose range is raised or capped, never refused. */
const NUMBERS = ["0", "-0", "1", "1.5", "-1", "1e300", "-1e300", "9007199254740993"];

/** Of each field the values that are taken; all others are 400 and name the field. */
const LABELS = ["{}", '{"__proto__":"a"}', '{"constructor":"a","prototype":"b"}'];
const SHARED_FIELDS: Record<string, string[]> = {
  template: ['""', '" "'],
  cpu: ["1"],
  memMb: ["1"],
  timeoutMs: ["1e300", "9007199254740993"],
  metadata: LABELS,
  lifecycle: ["{}"],
  resolution: [],
  record: ["false"],
  volumes: ["[]"],
  "lifecycle.onTimeout": [],
  "lifecycle.autoResume": ["true", "false"],
};
const SANDBOX_FIELDS: Record<string, string[]> = {
  ...SHARED_FIELDS,
  kind: [],
  diskGb: ["1"],
  isolation: [],
  envs: LABELS,
  "lifecycle.parkAfterMs": NUMBERS,
  "lifecycle.parkMaxMs": NUMBERS,
  "lifecycle.hibernateAfterParkedMs": NUMBERS,
  "lifecycle.checkpointEveryMs": NUMBERS,
};
const DESKTOP_FIELDS: Record<string, string[]> = {
  ...SHARED_FIELDS,
  isolation: [],
  record: ["true", "false"],
  ttlSeconds: ["1", "1e300", "9007199254740993"],
};

const bodyOf = (field: string, value: string): string => {
  const [outer = "", inner] = field.split(".");
  return inner === undefined ? `{"${outer}":${value}}` : `{"${outer}":{"${inner}":${value}}}`;
};

describe.each<[string, Record<string, string[]>, { shape: object }]>([
  ["/sandboxes", SANDBOX_FIELDS, CreateSandbox],
  ["/desktops", DESKTOP_FIELDS, CreateDesktop],
])("%s", async (path, fields, schema) => {
  // One that is not heard for 15 s would be away.
  beforeEach(() => newVmHost({ capabilities: ["desktop", "recording"] }));
  const { key } = await newOrg("professional", { vms: 100_000 });
  const post = (body: string) => call(path, { method: "POST", body, bearer: key });

  test("has every field of its schema in this table", () => {
    const names = Object.keys(schema.shape).filter((name) => name !== "fromSnapshot");
    const inner = path === "/sandboxes" ? Object.keys(LifecycleWanted.shape) : [];
    const wanted = [...names, ...inner.map((name) => `lifecycle.${name}`)];
    expect(Object.keys(fields)).toEqual(expect.arrayContaining(wanted));
  });

  test.each(Object.entries(fields))(
    "%s: null and some values are taken, all else is 400",
    async (field, taken) => {
      unhurried();
      const found = await Promise.all(
        VALUES.map(async (value) => {
          const response = await post(bodyOf(field, value));
          const body = await response.json<{ code?: string; field?: string }>();
          const isNamed = `${body.field}.`.startsWith(`${field.split(".")[0]}.`);
          return [value.slice(0, 30), response.status, response.status === 400 && isNamed];
        }),
      );
      const wanted = VALUES.map((value) => {
        const isTaken = value === "null" || taken.includes(value);
        return [value.slice(0, 30), isTaken ? 201 : 400, !isTaken];
      });
      expect(found).toEqual(wanted);
    },
  );

  test.each(["NaN", "Infinity", "-Infinity", "undefined", "0x1", "01", "1.", ".5", "+1", "'a'"])(
    "%s is no JSON: 400 InvalidJson",
    async (value) => {
      const response = await post(bodyOf("cpu", value));
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: "InvalidJson" });
    },
  );

  test.each([
    "nonsense",
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "",
    "a.b",
    "\\u0000",
  ])("an unknown field %j is ignored, whatever it holds", async (name) => {
    for (const value of ["1", "null", '{"cpu":9}', '{"__proto__":{"cpu":9}}']) {
      const response = await post(`{"${name}":${value}}`);
      expect([value, response.status]).toEqual([value, 201]);
    }
    expect(({} as { cpu?: number }).cpu).toBeUndefined();
  });

  test("a field that is there twice is its last value", async () => {
    expect((await post('{"cpu":9,"cpu":1}')).status).toBe(201);
    expect((await post('{"cpu":1,"cpu":9}')).status).toBe(400);
  });
});
