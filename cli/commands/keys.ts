import type { Command } from "commander";
import { parseApiKey } from "@svc/contract/ids.ts";
import type { HttpClient } from "@svc/sdk/http/client.ts";
import { orgOf, withOperator } from "../account/operator.ts";
import type { Cli } from "../cli.ts";
import { ago } from "../terminal/table.ts";

interface Of {
  org?: string;
}

/** API keys. */
export function addKeys(program: Command): void {
  const keys = program
    .command("keys")
    .description(
      "API keys of an org. Only the operator makes and revokes them, by SVC_ADMIN_TOKEN (found by itself where `npm start` runs): no public route does, so an API key alone cannot.",
    );
  keys
    .command("ls")
    .description("List the keys of an org, without their secrets.")
    .option("--org <id>", "of which org; not needed where there is one")
    .action(withOperator(list));
  keys
    .command("create")
    .description("Create a key. This is the only time that it is shown.")
    .argument("[name]", "what it is called")
    .option("--org <id>", "of which org; not needed where there is one")
    .action(withOperator(create));
  keys
    .command("revoke")
    .description(
      "Revoke a key, for good: at once at the replica that answers, within 60 s elsewhere.",
    )
    .argument("<keyId>", "the 12 characters in svc_live_<id>_…")
    .action(withOperator(revoke));
}

async function list(cli: Cli, http: HttpClient, { org }: Of): Promise<void> {
  const params = { id: await orgOf(http, org) };
  const { keys } = await http.call("GET /admin/orgs/:id/keys", { params });
  cli.printRows(
    keys,
    {
      id: ({ keyId }) => keyId,
      name: ({ name }) => name,
      created: ({ createdAt }) => ago(createdAt),
      revoked: ({ revokedAt }) => ago(revokedAt),
    },
    "The org has no key: `svc keys create` makes one.",
  );
}

async function create(
  cli: Cli,
  http: HttpClient,
  name: string | undefined,
  { org }: Of,
): Promise<void> {
  const params = { id: await orgOf(http, org) };
  const request = { params, body: { name }, isUnrepeatable: true } as const;
  const made = await http.call("POST /admin/orgs/:id/keys", request);
  cli.print(made, made.key);
}

async function revoke(cli: Cli, http: HttpClient, text: string): Promise<void> {
  // A whole key may be pasted, too.
  const keyId = parseApiKey(text)?.keyId ?? text;
  await http.call("DELETE /admin/keys/:keyId", { params: { keyId } });
  cli.print({ revoked: keyId }, keyId);
}
