import { OWN_HEADERS } from "@svc/contract/host-protocol/ports.ts";

/** Directives of Clear-Site-Data that end at the preview's own origin; cookies are cleared for the whole domain of previews. */
const OF_ORIGIN = ['"cache"', '"storage"', '"executionContexts"'];

type Rule = (value: string, path: string) => string | null;

/** Headers by which a page could reach further than its own host name. */
const RULES: Record<string, Rule> = {
  "clear-site-data": ofOrigin,
  "service-worker-allowed": (value, path) => (isBelow(value, path) ? value : null),
  "strict-transport-security": ofHost,
};

/** A header of a guest's answer as the client gets it; null when the client does not. `path`: of the request. */
export function answerHeader(name: string, value: string, path: string): string | null {
  const lower = name.toLowerCase();
  if (lower.startsWith(OWN_HEADERS)) return null;
  const rule = Object.hasOwn(RULES, lower) ? RULES[lower] : undefined;
  return rule ? rule(value, path) : value;
}

function ofOrigin(value: string): string | null {
  const asked = value.split(",").map((directive) => directive.trim());
  const kept = asked.includes('"*"') ? OF_ORIGIN : asked.filter((one) => OF_ORIGIN.includes(one));
  return kept.length > 0 ? kept.join(", ") : null;
}

/** Whether a scope lies in the folder of the script that asks for it, as it does without the header. */
function isBelow(scope: string, path: string): boolean {
  const folder = new URL(".", new URL(path, "http://preview"));
  const asked = URL.parse(scope, folder.href);
  return asked?.origin === folder.origin && asked.pathname.startsWith(folder.pathname);
}

function ofHost(value: string): string {
  const directives = value.split(";").map((directive) => directive.trim());
  return directives.filter((one) => !/^(includesubdomains|preload)$/i.test(one)).join("; ");
}
