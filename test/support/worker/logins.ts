import { ConsoleToken } from "@svc/contract/browser/login.ts";
import { Profile } from "@svc/contract/browser/profile.ts";
import { call, json, newOrg } from "./gateway.ts";

/** A login as somebody saves it. */
export const LOGIN = {
  loginUrl: "https://login.a.test/in",
  username: "ada@example.com",
  password: "a secret of the tests",
  totp: "jbsw y3dp ehpk 3pxp",
};

/** An org with a profile, and the console's token of it. */
export async function newConsole() {
  const org = await newOrg("professional");
  const made = await call("/profiles", { ...json({ name: "ada" }), bearer: org.key });
  const { id: profileId } = Profile.parse(await made.json());
  const answer = await call("/console/api/token", { method: "POST", bearer: org.key });
  const { token } = ConsoleToken.parse(await answer.json());
  const path = (site = "a.test") => `/console/api/logins/${profileId}/${site}`;
  const put = (body: object = LOGIN, site = "a.test") =>
    call(path(site), { ...json(body, "PUT"), bearer: token });
  return { ...org, profileId, token, path, put };
}
