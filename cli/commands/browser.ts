import type { Command } from "commander";
import type { BrowserOptions } from "@svc/sdk/browsers.ts";
import { count, duration, texts } from "../arguments.ts";
import { type Cli, firstOf, ROWS, withCli } from "../cli.ts";
import { fetchReplay } from "../browsers/replay.ts";
import { UsageError } from "../errors.ts";
import { ago } from "../terminal/table.ts";

interface Wanted {
  stealth?: true;
  proxy?: string | true;
  captcha?: true;
  record?: true;
  profile?: string;
  save?: true;
  allow?: string[];
  lease?: number;
}

const STATUSES = ["active", "released", "expired", "unknown"] as const;

/** Browser sessions. */
export function addBrowser(program: Command): void {
  const browser = program.command("browser").description("Browsers, each a session of its own.");
  addCreate(browser);
  browser
    .command("ls")
    .description("List sessions, newest first.")
    .option("--status <status>", `only those: ${STATUSES.join(", ")}`)
    .option("--limit <n>", "rows at most", count, ROWS)
    .action(withCli(list));
  browser.command("get").description("Show one session.").argument("<id>").action(withCli(show));
  browser
    .command("close")
    .description("Release sessions and their slots. Repeating it is fine.")
    .argument("<ids...>")
    .action(withCli(release));
  browser
    .command("live")
    .description(
      "A URL that shows the session to whoever has it, for 15 minutes (docs/OBSERVING.md).",
    )
    .argument("<id>")
    .option("--take-over [seconds]", "a URL by which a person takes the session over", count)
    .action(withCli(live));
  browser
    .command("replay")
    .description("Wait for the replay of a session that was recorded; print its URL, or keep it.")
    .argument("<id>")
    .option("-o, --output <file>", "keep it there, as lines of JSON")
    .action(withCli(fetchReplay));
}

async function show(cli: Cli, id: string): Promise<void> {
  const record = await (await cli.svc()).browsers.get(id);
  const { proxy, handoff, proxyRungs, ...facts } = record;
  const more = { proxy, handoff, proxyRungs };
  const texts = Object.entries(more).map(([name, value]) => [name, value && JSON.stringify(value)]);
  cli.printFacts(record, { ...facts, ...Object.fromEntries(texts) });
}

async function release(cli: Cli, ids: string[]): Promise<void> {
  const svc = await cli.svc();
  for (const id of ids) await svc.browsers.release(id);
  cli.print({ released: ids }, ids.join("\n"));
}

function addCreate(browser: Command): void {
  browser
    .command("create")
    .description(
      "Create a session. It ends when nobody connects to it, or its last client leaves, unless it has a --lease.",
    )
    .option("--stealth", "a whole Chromium on a screen of its own")
    .option("--proxy [country]", "leave by a managed proxy, in a country (with --stealth)")
    .option("--captcha", "solve captchas (with --stealth)")
    .option("--record", "record a replay")
    .option("--profile <id>", "start with a stored profile: its id or its name")
    .option("--save", "save the profile when the session ends (with --profile)")
    .option("--allow <domain>", "reach this domain alone; repeatable (with --stealth)", texts)
    .option(
      "--lease <time>",
      "live on without a client until the lease ends: 90s, 15m, 2h",
      duration,
    )
    .action(withCli(create));
}

async function create(cli: Cli, wanted: Wanted): Promise<void> {
  const svc = await cli.svc();
  const { stealth, captcha, record: recording, lease, save, allow, proxy } = wanted;
  const profileId = wanted.profile && (await profileNamed(cli, wanted.profile));
  const made = await svc.browsers.create({
    stealth,
    captcha,
    recording,
    profileId,
    saveProfileOnRelease: save,
    allowedDomains: allow,
    // The service says which countries it knows.
    proxy: (proxy === true ? {} : proxy) as BrowserOptions["proxy"],
    lease: lease === undefined ? undefined : { idleSeconds: Math.ceil(lease / 1_000) },
  });
  const { id, wsEndpoint, cdpEndpoint, expiresAt, captcha: solver, proxy: exit } = made;
  const facts = { id, wsEndpoint, cdpEndpoint, expiresAt };
  const more = { proxy: exit, captcha: solver, allowedDomains: made.allowedDomains };
  cli.printFacts(
    { ...facts, ...more },
    {
      ...facts,
      proxy: exit && JSON.stringify(exit),
      captcha: solver && (solver.active ? "active" : "no solver is configured"),
      allowedDomains: made.allowedDomains?.join(" "),
    },
  );
}

/** Profiles have ids that nobody remembers. */
async function profileNamed(cli: Cli, text: string): Promise<string> {
  if (text.startsWith("prof_")) return text;
  for await (const { id, name } of (await cli.svc()).profiles.list()) if (name === text) return id;
  throw new UsageError(`There is no profile ${text}: \`svc profile ls\` lists them.`);
}

async function list(cli: Cli, options: { status?: string; limit: number }): Promise<void> {
  const status = STATUSES.find((one) => one === options.status);
  if (options.status && !status)
    throw new UsageError(`--status is one of ${STATUSES.join(", ")}, not ${options.status}.`);
  const svc = await cli.svc();
  const { limit } = options;
  const all = await firstOf(svc.browsers.list({ status, limit: Math.min(limit, 100) }), limit);
  cli.printRows(
    all,
    {
      id: ({ id }) => id,
      kind: ({ kind }) => kind ?? undefined,
      status: ({ status: is, closeReason }) => (closeReason ? `${is} (${closeReason})` : is),
      created: ({ createdAt }) => ago(createdAt),
      ends: ({ expiresAt, status: is }) => (is === "active" ? ago(expiresAt) : undefined),
    },
    "There is no session: `svc browser create` makes one.",
  );
}

async function live(
  cli: Cli,
  id: string,
  { takeOver: seconds }: { takeOver?: number | true },
): Promise<void> {
  const session = await (await cli.svc()).browsers.connect(id);
  if (seconds === undefined) {
    const seen = await session.observe();
    return cli.print(seen, seen.url);
  }
  const handed = await session.handOff(seconds === true ? undefined : seconds);
  cli.printFacts(handed, { url: handed.url, ends: handed.handoff.expiresAt });
}
