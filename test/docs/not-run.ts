import type { Block } from "./blocks.ts";

/** Blocks that no test runs, by page and first line, each with the reason. All others are run or parsed. */
export const NOT_RUN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "README.md": {
    "npm start": "it is the service itself: test/start",
    "npm test": "it is the test",
  },
  "CONTRIBUTING.md": {
    "npm start                  # the whole service on this machine":
      "commands for people who work on the service; CI runs them",
  },
  "docs/CAPTCHA.md": {
    "SVC_CAPTCHA_KEY=…                  # never in a log, an error or an argument":
      "settings of a provider that costs money: test/end-to-end/captcha.test.ts",
  },
  "docs/CLI.md": {
    "svc login                                     # not needed where `npm start` runs":
      "a login and a shell are for a terminal: test/cli runs every command",
  },
  "docs/DEPLOY.md": {
    "SVC_GATEWAY_URL=https://svc.example.com SVC_HOST_TOKEN=… SVC_HOST_ID=vm-1 \\":
      "it installs packages on a host and starts it: test/cli/doctor.test.ts starts it without a gateway",
    "npx wrangler d1 create svc                      # put its id into wrangler.toml":
      "it changes a Cloudflare account",
    "apt-get install --no-install-recommends chromium-headless-shell bubblewrap iproute2":
      "it installs packages on a host and starts it: scripts/system-packages.ts has the same list",
    "SVC_PROXY_RESIDENTIAL_URL='http://me-country-{country}[-state-{state}][-city-{city}]-session-{session}-ttl-{minutes}:pw@gate.example:8000'":
      "settings of a provider that costs money: test/end-to-end/proxies.test.ts",
  },
  "docs/LOGINS.md": {
    'curl -H "$AUTH" -d \'{ "instructions": "Sign in, please", "successUrl": "https://example.com/home*" }\' "$BASE/sessions/$ID/handoffs"':
      "it waits for a person: test/end-to-end/handoff.test.ts",
    'TOKEN=$(curl -X POST -H "$AUTH" "$BASE/console/api/token" | jq -r .token)      # for 15 minutes':
      "a password of a site on the web: test/end-to-end/autologin.test.ts",
  },
  "docs/guides/tools-for-an-agent.md": {
    'claude mcp add --transport http svc http://127.0.0.1:8787/mcp --header "Authorization: Bearer $SVC_API_KEY"':
      "a command of another program",
    "npx svc mcp config claude-desktop --local --write":
      "it changes the settings of another program: test/cli/mcp-config.test.ts",
  },
  "docs/guides/quickstart.md": {
    "npm start": "it is the service itself: test/start",
    "npm run bundle-sdk": "the tests have built it already: test/sdk",
  },
};

/** Whether a block is not in that list. */
export const isRun = ({ page, code }: Block): boolean =>
  !Object.hasOwn(NOT_RUN[page] ?? {}, firstLine(code));

export const firstLine = (code: string): string => code.split("\n", 1)[0] ?? "";
