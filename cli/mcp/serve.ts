import type { Cli } from "../cli.ts";
import { Ended } from "../errors.ts";

/** Serves the tools to a client over stdin and stdout, until it closes them. */
export async function serve(cli: Cli): Promise<never> {
  const { baseUrl, apiKey } = await cli.neededSettings();
  const { serveLocal } = await import("@svc/mcp/stdio.ts");
  const settings = { SVC_BASE_URL: baseUrl.value, SVC_API_KEY: apiKey.value };
  throw new Ended(await serveLocal({ ...process.env, ...settings }));
}
