import { SessionCreated, SessionRecord } from "@svc/contract/browser/session.ts";
import { ErrorBody } from "@svc/contract/errors.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { call, json, newOrg, newPool, unhurried } from "../../support/worker/gateway.ts";
import { seededRandom } from "../../support/worker/random.ts";

const FIELDS = ["profileId", "recording", "stealth", "captcha", "proxy", "allowedDomains", "lease"];
const PROXY_FIELDS = ["country", "tier", "static", "session", "sessionDuration", "state", "city"];
const HUGE = "x".repeat(9000);
const VALUES: unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  "",
  " ",
  "off",
  "us",
  "\u0000",
  "\ud800",
  "naïve 🦄 \u202e",
  HUGE,
  [],
  [null],
  [[]],
  ["a.example"],
  {},
  { idleSeconds: 5 },
  { length: 1, 0: "a" },
];
/** Statuses with which a create may answer what was sent. */
const ANSWERS = [201, 400, 402, 404, 501];

const pool = await newPool();
const idle = { idle: 999, busy: 0, recycling: 0 };
const beat = () => pool.beat({ kinds: { fast: idle, stealth: idle } });
const { key } = await newOrg("professional", { browsers: 100_000 });

// A pool that falls silent would be gone after 15 s.
beforeEach(beat);

const send = (body: BodyInit, headers = {}) =>
  call("/sessions", { method: "POST", body, headers, bearer: key });

/** Holds an answer to what every answer to bad input owes. */
async function expectAnswer(response: Response, about: unknown): Promise<ErrorBody | null> {
  const text = await response.text();
  expect([about, ANSWERS.includes(response.status), text]).toEqual([about, true, text]);
  if (response.status === 201) return null;
  const body = ErrorBody.parse(JSON.parse(text));
  expect([about, body.code]).toEqual([about, expect.stringMatching(/./)]);
  return body;
}

describe.each(FIELDS)("whatever %s is", (field) => {
  test.each(VALUES.map((value) => [value]))(
    "%j is served or refused, never a fault",
    async (value) => {
      for (const rest of [{}, { stealth: true }]) {
        const body = { ...rest, [field]: value };
        await expectAnswer(await send(JSON.stringify(body)), body);
      }
    },
  );
});

test.each(PROXY_FIELDS)(
  "whatever proxy.%s is, it is served or refused at its own field",
  async (field) => {
    for (const value of VALUES) {
      const body = { stealth: true, proxy: { [field]: value } };
      const refused = await expectAnswer(await send(JSON.stringify(body)), body);
      expect([value, `proxy.${field}`]).toEqual([value, refused?.["field"] ?? `proxy.${field}`]);
    }
  },
);

test("any mix of fields and values is served or refused at a field that was sent", async () => {
  const random = seededRandom(4);
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  for (let n = 0; n < 300; n += 1) {
    const picked = Array.from({ length: 4 }, () => [pick(FIELDS), pick(VALUES)] as const);
    const body = Object.fromEntries(picked);
    const text = JSON.stringify(body);
    if (n % 50 === 0) await beat();
    // Four huge values are above the cap, which has a test of its own.
    if (text.length > 16_384) continue;
    const refused = await expectAnswer(await send(text), body);
    const named = refused?.["field"];
    const [field] = (typeof named === "string" ? named : "").split(".");
    expect([text, ["", ...Object.keys(body)]]).toEqual([text, expect.arrayContaining([field])]);
  }
});

async function kindOf(response: Response): Promise<string | null> {
  const { sessionId } = SessionCreated.parse(await response.json());
  const record = await call(`/sessions/${sessionId}`, { bearer: key });
  return SessionRecord.parse(await record.json()).kind;
}

const notText = new Uint8Array([0xff, 0xfe, 0x00, 0x80]);

test.each<[string, BodyInit]>([
  ["a number", "7"],
  ["true", "true"],
  ["null", "null"],
  ["blanks", " \n\t"],
  ["a byte order mark", "\ufeff"],
  ["half an object", '{"stealth":true'],
  ["two objects", '{"stealth":true}{"stealth":true}'],
  ["a comment", '{"stealth":true /* yes */}'],
  ["bytes that are no text", notText],
  ["10,000 open brackets", "[".repeat(10_000)],
])("a body of %s is all defaults", async (_name, body) => {
  expect(await kindOf(await send(body))).toBe("fast");
});

test.each([
  ['{"stealth":true,"stealth":false}', "fast"],
  ['{"stealth":false,"stealth":true}', "stealth"],
  ['{"proxy":"zz","proxy":"off"}', "fast"],
])("of a key that comes twice the last one counts: %s", async (body, kind) => {
  expect(await kindOf(await send(body))).toBe(kind);
});

test.each([
  '{"__proto__":{"stealth":true,"proxy":"zz"}}',
  '{"constructor":{"prototype":{"stealth":true}}}',
  '{"lease":null,"toString":5,"hasOwnProperty":true,"valueOf":null}',
])("%s switches nothing on, for itself or for who comes after", async (body) => {
  expect(await kindOf(await send(body))).toBe("fast");
  expect(await kindOf(await send("{}"))).toBe("fast");
});

test("__proto__ inside a proxy is one more field of no meaning", async () => {
  const body = '{"stealth":true,"proxy":{"__proto__":{"country":"zz","tier":"gold"}}}';
  expect(await kindOf(await send(body))).toBe("stealth");
});

describe("a body as deep as the cap allows", () => {
  const lists = "[".repeat(8000) + "]".repeat(8000);
  const objects = '{"a":'.repeat(2500) + "1" + "}".repeat(2500);

  test.each([
    ...["x", "profileId", "stealth"].map((field) => [field, 201] as const),
    ...["proxy", "allowedDomains", "lease"].map((field) => [field, 400] as const),
  ])("in %s is %i, with and without an Idempotency-Key", async (field, status) => {
    for (const [at, deep] of [lists, objects].entries()) {
      const body = `{"${field}":${deep}}`;
      const wanted = field === "proxy" && deep === objects ? 400 : status;
      expect((await send(body)).status).toBe(wanted);
      const headers = { "idempotency-key": `deep-${field}-${at}` };
      const answers = [await send(body, headers), await send(body, headers)];
      expect(answers.map((answer) => answer.status)).toEqual([wanted, wanted]);
    }
  });

  test("and deeper is above the cap", async () => {
    const body = `{"x":${"[".repeat(10_000)}${"]".repeat(10_000)}}`;
    for (const headers of [{}, { "idempotency-key": "deeper" }])
      expect((await send(body, headers)).status).toBe(413);
  });
});

test.each(["", 5, [], {}, true, null])("a profileId of %j is ignored", async (profileId) => {
  const response = await send(JSON.stringify({ profileId }));
  expect(response.status).toBe(201);
  expect(await response.json()).not.toHaveProperty("storageStateUrl");
});

test.each(["prof_nothing", " ", "\u0000", "🦄", "../x", "' OR 1=1 --", HUGE])(
  "a profileId of %j is 404",
  async (profileId) => {
    const response = await send(JSON.stringify({ profileId }));
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: "ProfileNotFound" });
  },
);

describe("allowedDomains", () => {
  const create = (allowedDomains: unknown) =>
    call("/sessions", { ...json({ stealth: true, allowedDomains }), bearer: key });

  test.each([
    "https://a.example",
    "a.example:443",
    "*.a.example",
    "*",
    "a.example/",
    "a.example..",
    ".a.example",
    "user@a.example",
    "a_b.example",
    "a.example\u0000",
    "\ud800",
    "xn--\u0000",
    HUGE,
  ])("of %j are 400 at that entry", async (domain) => {
    const response = await create(["good.example", domain]);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ field: "allowedDomains.1" });
  });

  test.each([
    [["a.example."], ["a.example"]],
    [["A.EXAMPLE", "a.example", "a.example."], ["a.example"]],
    [["bücher.example", "xn--bcher-kva.example"], ["xn--bcher-kva.example"]],
    [["日本.example"], ["xn--wgv71a.example"]],
  ])("of %j are echoed as %j", async (domains, echo) => {
    const response = await create(domains);
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ allowedDomains: echo });
  });

  test("may be 1,000, and not 1,001", async () => {
    const names = Array.from({ length: 1001 }, (_, n) => `${n}.a`);
    expect((await create(names.slice(1))).status).toBe(201);
    const response = await create(names);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ field: "allowedDomains" });
  });
});

test("twenty equal Idempotency-Keys at once make one session, whatever the body", async () => {
  unhurried();
  for (const body of ["{}", "no json", `{"x":${"[".repeat(7000)}${"]".repeat(7000)}}`]) {
    const other = await newOrg("professional");
    const init = { method: "POST", body, headers: { "idempotency-key": "k" }, bearer: other.key };
    const answers = await Promise.all(Array.from({ length: 20 }, () => call("/sessions", init)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(new Set(texts).size).toBe(1);
    const list = await call("/sessions", { bearer: other.key });
    expect(await list.json()).toMatchObject({ sessions: [{ status: "active" }] });
  }
});
