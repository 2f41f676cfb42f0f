import { call } from "./gateway.ts";
import { ADMIN_TOKEN } from "../secrets.ts";

/** Calls the operator's API. */
export const admin = (path: string, init = {}): Promise<Response> =>
  call(path, { ...init, bearer: ADMIN_TOKEN });

/** Bodies that neither make nor change an org: what is wrong, the body, the code, the field. */
export const BAD_ORGS: [string, string, string, string | undefined][] = [
  ["not JSON", "{", "InvalidJson", undefined],
  ["a list", "[]", "ValidationError", ""],
  ["an unknown plan", '{"name":"a","plan":"gold"}', "ValidationError", "plan"],
  ["an unknown override", '{"name":"a","overrides":{"x":1}}', "ValidationError", "overrides"],
  [
    "a negative cap",
    '{"name":"a","overrides":{"browsers":-1}}',
    "ValidationError",
    "overrides.browsers",
  ],
  ["credit that is no number", '{"name":"a","creditCents":"1"}', "ValidationError", "creditCents"],
];
