import { HttpClient } from "@svc/sdk/http/client.ts";
import { AuthenticationError } from "@svc/sdk/errors.ts";
import { type Cli, withCli } from "../cli.ts";
import { Refusal, UsageError } from "../errors.ts";
import { localSecret } from "../settings/settings.ts";

/** The operator API of the service; null where no token of it is at hand. */
export async function operator(cli: Cli): Promise<HttpClient | null> {
  const { baseUrl } = await cli.settings();
  const { SVC_ADMIN_TOKEN } = process.env;
  const token =
    SVC_ADMIN_TOKEN || (await localSecret("admin.token", baseUrl.value, process.env))?.value;
  if (!token) return null;
  const options = { apiKey: token, baseUrl: baseUrl.value, browserUrl: baseUrl.value };
  return new HttpClient({ ...options, maxRetries: 2, timeoutMs: null, fetch });
}

/** An action of commander by the operator API. */
export const withOperator = <Given extends unknown[]>(
  work: (cli: Cli, http: HttpClient, ...given: Given) => Promise<void>,
) =>
  withCli(async (cli, ...given: Given) => {
    const http = await neededOperator(cli);
    try {
      await work(cli, http, ...given);
    } catch (error) {
      if (!(error instanceof AuthenticationError)) throw error;
      throw new Refusal(
        "The service does not take the operator's token: SVC_ADMIN_TOKEN, or the one of `npm start` here, is of another service.",
      );
    }
  });

async function neededOperator(cli: Cli): Promise<HttpClient> {
  const asked = await operator(cli);
  if (asked) return asked;
  throw new UsageError(
    "Keys are made by the operator of the service: set SVC_ADMIN_TOKEN, or ask who runs it. No API key can make another one.",
  );
}

/** The org that is named, or the only one. */
export async function orgOf(http: HttpClient, wanted: string | undefined): Promise<string> {
  if (wanted !== undefined) return wanted;
  const { orgs } = await http.call("GET /admin/orgs");
  const [first, ...others] = orgs;
  if (first && others.length === 0) return first.orgId;
  const known = orgs.map(({ orgId, name }) => `${orgId} (${name})`).join(", ");
  throw new UsageError(`Pass --org, one of: ${known || "there is none yet"}.`);
}
