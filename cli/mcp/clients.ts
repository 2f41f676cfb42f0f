import { join } from "node:path";

/** A value of JSON or TOML. */
export type Value = string | number | boolean | Value[] | { [key: string]: Value };

/** How a client reaches the server: over HTTP at the service, or as a program here. */
export type Way = "hosted" | "local";

/** The facts that a client's entry is made of. */
export interface Facts {
  /** `https://svc.example.com/mcp` */
  url: string;
  /** The URL of the service. */
  baseUrl: string;
  /** The key as the file has it: a variable that the client fills in, or the key itself. */
  key: string;
  /** The program of the local server, with its arguments. */
  program: readonly [string, ...string[]];
}

/** The user's computer, as far as the files of clients depend on it. */
export interface Computer {
  home: string;
  platform: NodeJS.Platform;
  env: NodeJS.ProcessEnv;
}

/** A client of MCP, and how it is told of a server. */
export interface Client {
  id: string;
  title: string;
  /** The file of its settings: a path from the folder of a project on, or one in the home. */
  file: (computer: Computer) => string;
  format: "json" | "toml";
  /** True: the file is often committed, and the key is never written into it. */
  isShared: boolean;
  /** How the file names a variable that has the key; null: it has the key itself. */
  variable: string | null;
  /** The name in the file under which the servers are. */
  under: string;
  hosted: ((facts: Facts) => { [key: string]: Value }) | { not: string };
  local: (facts: Facts) => { [key: string]: Value };
  /** Lists that the file has to have beside the server. */
  beside?: { [key: string]: Value };
  /** A command of the client's own that does the same. */
  command?: Partial<Record<Way, (facts: Facts) => string>>;
  note?: string;
}

/** The name of the server, wherever it is registered. */
export const SERVER = "svc";
/** The variable that clients read the key from. */
export const KEY_VARIABLE = "SVC_API_KEY";

const bearer = ({ key }: Facts): string => `Bearer ${key}`;

/** A local server: a program, its arguments and its variables. */
function program({ program: [command, ...args], key, baseUrl }: Facts): { [key: string]: Value } {
  return { command, args, env: { [KEY_VARIABLE]: key, SVC_BASE_URL: baseUrl } };
}

const quoted = (words: readonly string[]): string =>
  words.map((word) => (/^[\w@/.:=-]+$/.test(word) ? word : `'${word}'`)).join(" ");

/** Every client that `svc mcp config` knows: docs/CLI.md is made from it. */
export const CLIENTS: readonly Client[] = [
  {
    id: "claude-code",
    title: "Claude Code",
    file: () => ".mcp.json",
    format: "json",
    isShared: true,
    variable: `\${${KEY_VARIABLE}}`,
    under: "mcpServers",
    hosted: (facts) => ({
      type: "http",
      url: facts.url,
      headers: { Authorization: bearer(facts) },
    }),
    local: program,
    command: {
      hosted: ({ url }) =>
        `claude mcp add --transport http ${SERVER} ${url} --header "Authorization: Bearer $${KEY_VARIABLE}"`,
      local: ({ program: words, baseUrl }) =>
        `claude mcp add ${SERVER} --env ${KEY_VARIABLE}=$${KEY_VARIABLE} --env SVC_BASE_URL=${baseUrl} -- ${quoted(words)}`,
    },
    note: "Some versions send `${SVC_API_KEY}` of the file unexpanded (issues #6204, #51581): then use the command.",
  },
  {
    id: "claude-desktop",
    title: "Claude Desktop",
    file: claudeDesktopFile,
    format: "json",
    isShared: false,
    variable: null,
    under: "mcpServers",
    hosted: { not: "Its file takes no headers, and its connectors want OAuth: add --local." },
    local: program,
  },
  {
    id: "cursor",
    title: "Cursor",
    file: () => join(".cursor", "mcp.json"),
    format: "json",
    isShared: true,
    variable: `\${env:${KEY_VARIABLE}}`,
    under: "mcpServers",
    hosted: (facts) => ({ url: facts.url, headers: { Authorization: bearer(facts) } }),
    local: program,
  },
  {
    id: "vscode",
    title: "VS Code",
    file: () => join(".vscode", "mcp.json"),
    format: "json",
    isShared: true,
    variable: "${input:svc}",
    under: "servers",
    hosted: (facts) => ({
      type: "http",
      url: facts.url,
      headers: { Authorization: bearer(facts) },
    }),
    local: (facts) => ({ type: "stdio", ...program(facts) }),
    beside: {
      inputs: [{ type: "promptString", id: SERVER, description: "svc API key", password: true }],
    },
    note: "It asks for the key when the server starts, and keeps it.",
  },
  {
    id: "codex",
    title: "Codex",
    file: ({ env, home }) => join(env.CODEX_HOME || join(home, ".codex"), "config.toml"),
    format: "toml",
    isShared: false,
    variable: null,
    under: "mcp_servers",
    hosted: ({ url }) => ({ url, bearer_token_env_var: KEY_VARIABLE, tool_timeout_sec: 300 }),
    local: (facts) => ({ ...program(facts), tool_timeout_sec: 300 }),
    note: "Over HTTP it reads the key from the environment: SVC_API_KEY has to be set where it runs.",
  },
  {
    id: "gemini",
    title: "Gemini CLI",
    file: ({ home }) => join(home, ".gemini", "settings.json"),
    format: "json",
    isShared: false,
    variable: null,
    under: "mcpServers",
    // `url` would mean server-sent events.
    hosted: (facts) => ({ httpUrl: facts.url, headers: { Authorization: bearer(facts) } }),
    local: program,
  },
];

function claudeDesktopFile({ env, home, platform }: Computer): string {
  const name = join("Claude", "claude_desktop_config.json");
  if (platform === "darwin") return join(home, "Library", "Application Support", name);
  if (platform === "win32") return join(env.APPDATA || home, name);
  return join(env.XDG_CONFIG_HOME || join(home, ".config"), name);
}
