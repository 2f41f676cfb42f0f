import { expect, test } from "vitest";
import { withoutSecret } from "../../../src/logins/without-secret.ts";

const PASSWORD = "p&ss wörd/1";
const sent = new URLSearchParams({ q: PASSWORD }).toString();
const written = encodeURIComponent(PASSWORD);

test.each([
  ["of a form that sends its fields by GET", `https://a.test/in?${sent}`, "https://a.test/in"],
  ["behind the hash", `https://a.test/in#${written}`, "https://a.test/in"],
  ["in lower case", `https://a.test/in?q=${written.toLowerCase()}`, "https://a.test/in"],
  ["in the path", `https://a.test/in/${written}?x=1`, "https://a.test"],
  ["that does not have it", "https://a.test/in?q=p%26ss#%ff", "https://a.test/in?q=p%26ss#%ff"],
  ["that is none", "", ""],
])("a URL %s", (_name, url, expected) => {
  expect(withoutSecret({ url, title: "Sign in" }, PASSWORD)).toEqual({
    url: expected,
    title: "Sign in",
  });
});

test("a page without a title shows its URL as one, and then has none", () => {
  const place = { url: "https://a.test/", title: `a.test/in?${sent}` };
  expect(withoutSecret(place, PASSWORD)).toEqual({ url: "https://a.test/", title: "" });
});
