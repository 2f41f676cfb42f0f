import { ApiError, AuthenticationError, SvcError } from "@svc/sdk/errors.ts";
import { HttpClient } from "@svc/sdk/http/client.ts";
import { operator } from "../account/operator.ts";
import type { Cli } from "../cli.ts";
import type { Finding } from "./finding.ts";
import { ago } from "../terminal/table.ts";

/** A service that does not answer in this time is down for a person. */
const ANSWER_MS = 10_000;

/** Whether the service answers, takes the key, and has hosts. */
export async function lookAtService(cli: Cli): Promise<Finding[]> {
  const { baseUrl, apiKey } = await cli.settings();
  const http = new HttpClient({
    apiKey: apiKey?.value ?? "",
    baseUrl: baseUrl.value,
    browserUrl: baseUrl.value,
    maxRetries: 0,
    timeoutMs: ANSWER_MS,
    fetch,
  });
  const gateway = await lookAtGateway(http, baseUrl.value);
  if (gateway.state === "missing") return [gateway];
  return [gateway, await lookAtKey(http, apiKey?.from), ...(await lookAtHosts(cli))];
}

async function lookAtGateway(http: HttpClient, url: string): Promise<Finding> {
  const what = "gateway";
  try {
    await http.call("GET /health");
    return { what, state: "ok", note: `answers at ${url}` };
  } catch (error) {
    const note =
      error instanceof ApiError
        ? `${url} is no gateway: it answers ${error.status}`
        : `nothing answers at ${url} (${reasonOf(error)})`;
    return { what, state: "missing", note, fix: "svc start   # or set SVC_BASE_URL, or svc login" };
  }
}

async function lookAtKey(http: HttpClient, from: string | undefined): Promise<Finding> {
  const what = "API key";
  const fix = "svc login";
  if (from === undefined) return { what, state: "missing", note: "there is none", fix };
  try {
    await http.call("GET /proxy/countries");
    return { what, state: "ok", note: `is taken (${from})` };
  } catch (error) {
    const note = error instanceof AuthenticationError ? `is not taken (${from})` : wordsOf(error);
    return { what, state: "missing", note, fix };
  }
}

async function lookAtHosts(cli: Cli): Promise<Finding[]> {
  const what = "registered";
  const asked = await operator(cli);
  if (!asked)
    return [{ what, state: "ok", note: "hosts are shown to the operator alone (SVC_ADMIN_TOKEN)" }];
  try {
    const { hosts } = await asked.call("GET /admin/hosts", { timeoutMs: ANSWER_MS });
    if (hosts.length === 0)
      return [
        { what, state: "missing", note: "no host", fix: "svc host pool   # and svc host vm" },
      ];
    return hosts.map((host) => ({
      what,
      state: host.hint || host.draining ? ("weak" as const) : ("ok" as const),
      note: `${host.hostId} (${host.type}), heard ${ago(new Date(host.seenAt).toISOString())}${host.draining ? ", takes no more" : ""}${host.hint ? `: ${host.hint}` : ""}`,
    }));
  } catch (error) {
    return [{ what, state: "weak", note: wordsOf(error) }];
  }
}

/** The system's reason of a connection that failed. */
const reasonOf = (error: unknown): string =>
  /failed: fetch failed \((.+)\)$/.exec(wordsOf(error))?.[1] ?? wordsOf(error);

function wordsOf(error: unknown): string {
  if (error instanceof ApiError) return `it answers ${error.status}: ${error.message}`;
  return error instanceof SvcError ? error.message : String(error);
}
