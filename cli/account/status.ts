import { type Cli, firstOf } from "../cli.ts";

/** At most so many browsers, and so many machines, are counted. */
const COUNTED = 1_000;

/** Which service, by which key, and what it does for the org now. */
export async function showStatus(cli: Cli): Promise<void> {
  const { baseUrl, apiKey } = await cli.settings();
  const svc = await cli.svc();
  const [health, usage, browsers, machines] = await Promise.all([
    svc.health(),
    svc.usage(),
    firstOf(svc.browsers.list({ status: "active" }), COUNTED),
    firstOf(svc.sandboxes.list({ state: "running" }), COUNTED),
  ]);
  const { kept, cents, creditCents } = usage;
  const answer = {
    baseUrl: baseUrl.value,
    baseUrlFrom: baseUrl.from,
    apiKeyFrom: apiKey?.from,
    health,
    browsers: browsers.length,
    machines: machines.length,
    cents,
    creditCents,
    kept,
  };
  const of = ({ used, cap }: { used: number; cap: number | null }): string =>
    `${Math.round(used * 100) / 100} of ${cap ?? "any number"}`;
  cli.printFacts(answer, {
    service: `${baseUrl.value} (${baseUrl.from})`,
    key: `${maskedKey(apiKey?.value)} (${apiKey?.from})`,
    browsers: `${browsers.length} active`,
    machines: `${machines.length} running, ${of(kept.machines)} kept`,
    volumes: of(kept.volumes),
    snapshots: of(kept.snapshots),
    templates: of(kept.templates),
    storage: `${of(kept.gib)} GiB`,
    month: `${(cents / 100).toFixed(2)} spent${creditCents === null ? "" : `, ${(creditCents / 100).toFixed(2)} left`}`,
  });
}

/** A key as its id alone, which tells one key from another: the secret is not shown. */
const maskedKey = (key = ""): string => key.replace(/_[^_]+$/, "_…");
