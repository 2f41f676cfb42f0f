import {
  ANSWER_HEADER,
  FORWARD_PREFIX,
  FORWARDED_HEADERS,
  OWN_HEADERS,
} from "@svc/contract/host-protocol/ports.ts";

/** Of one connection only. */
const HOP_BY_HOP = new Set([
  "connection",
  "expect",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Said by the gateway's runtime of itself. */
const OF_RUNTIME = "cf-worker";
/** The gateway's words to the host, never the guest's to hear: the customer's own come back in their place. */
const REPLACED: ReadonlySet<string> = new Set(FORWARDED_HEADERS);

type Pair = [name: string, value: string];

/** The headers of a request of the gateway as the server inside gets them: those of the customer, as flat pairs. */
export function headersForGuest(rawHeaders: string[]): string[] {
  const pairs = passing(pairsOf(rawHeaders));
  const restored = pairs.flatMap(([name, value]): Pair[] => {
    const original = name.slice(FORWARD_PREFIX.length).toLowerCase();
    const isForwarded = name.toLowerCase().startsWith(FORWARD_PREFIX) && REPLACED.has(original);
    return isForwarded ? [[original, value]] : [];
  });
  const hasHost = restored.some(([name]) => name === "host");
  const rest = pairs.filter(([name]) => {
    const lower = name.toLowerCase();
    if (lower === "host") return !hasHost;
    return !REPLACED.has(lower) && !isOurs(lower) && lower !== OF_RUNTIME;
  });
  // Left to itself, Node frames no body of a method that rarely has one.
  const isChunked = rawHeaders.some(
    (word, at) => at % 2 === 0 && /^transfer-encoding$/i.test(word),
  );
  const framing: Pair[] = isChunked ? [["transfer-encoding", "chunked"]] : [];
  return [...restored, ...rest, ...framing].flat();
}

/** The headers of an answer from inside as the gateway gets them, marked as the guest's. */
export function headersForGateway(rawHeaders: string[]): string[] {
  const pairs = passing(pairsOf(rawHeaders)).filter(([name]) => !isOurs(name.toLowerCase()));
  return [...pairs.flat(), ANSWER_HEADER, "guest"];
}

/** Marks an answer as the host's own. */
export const OWN_ANSWER = { [ANSWER_HEADER]: "host" };

const isOurs = (lowerName: string): boolean => lowerName.startsWith(OWN_HEADERS);

/** All but what is of this connection: by its nature, or because Connection says so. */
function passing(pairs: Pair[]): Pair[] {
  const named = pairs.flatMap(([name, value]) =>
    name.toLowerCase() === "connection" ? value.toLowerCase().split(/\s*,\s*/) : [],
  );
  return pairs.filter(([name]) => {
    const lower = name.toLowerCase();
    return !HOP_BY_HOP.has(lower) && !named.includes(lower);
  });
}

function pairsOf(rawHeaders: string[]): Pair[] {
  const pairs: Pair[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    pairs.push([rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""]);
  return pairs;
}
