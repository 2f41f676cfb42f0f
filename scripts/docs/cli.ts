import type { Argument, Command, Option } from "commander";
import { stringify } from "smol-toml";
import { EXIT, EXIT_MEANINGS } from "../../cli/exit-codes.ts";
import { makeProgram } from "../../cli/program.ts";
import { type Client, CLIENTS, SERVER } from "../../cli/mcp/clients.ts";
import { table } from "./table.ts";

const HEAD = `# The command \`svc\`

Made from the commands themselves by \`npm run docs\`: do not edit. In a clone it is
\`npm run --silent svc -- …\`, or once that is installed \`npx --no svc …\`, which starts sooner.

\`\`\`sh
svc login                                     # not needed where \`npm start\` runs
id=$(svc sandbox create)
svc sandbox exec $id -- python3 -c 'print(6*7)'
tar c . | svc sandbox exec $id -- tar x -C /srv
svc sandbox cp results $id:/srv/              # files and folders, both ways
svc sandbox shell $id
svc sandbox rm $id
echo '{"name": "web", "compiled": {"from": {"template": "base"}, "steps": [{"type": "apt", "packages": ["jq"]}]}}' |
  svc template build - --follow
\`\`\`

- The service and the key: \`--base-url\` and \`--api-key\`, else \`SVC_BASE_URL\` and \`SVC_API_KEY\`, else what \`svc login\` keeps in
  \`$XDG_CONFIG_HOME/svc/config.json\` (mode 0600), else a service that \`npm start\` runs on this computer: its \`.svc/dev.key\` is found from the
  folder of the installation and from those below. A key that is kept is shown to no other service than its own.
- The answer is on stdout, and nothing else; with \`--json\` it is the JSON of the API. An error is one line on stderr that says what to do next.
- Colours, bars and spinners are for terminals alone; \`NO_COLOR\` is honoured.

## Exit codes
`;

/** docs/CLI.md. */
export function cliDocument(): string {
  const codes = Object.entries(EXIT).map(([name, code]) => [
    String(code),
    EXIT_MEANINGS[name as keyof typeof EXIT],
  ]);
  const program = makeProgram();
  const global = program.options.map(optionLine).join("\n");
  const commands = leavesOf(program).map((command) => commandText(command));
  return `${HEAD}
${table([["code", "meaning"], ...codes])}

## For every command

${global}

${commands.join("\n")}
${clientsText()}`;
}

/** The clients of `svc mcp config`, from the table that the command itself reads. */
function clientsText(): string {
  const rows = CLIENTS.map((client) => [
    client.title,
    `\`${client.id}\``,
    fileText(client),
    keyText(client),
  ]);
  const snippets = CLIENTS.flatMap((client) =>
    "not" in client.hosted ? [] : [snippetText(client)],
  );
  return `## Clients of \`svc mcp config\`

${table([["client", "name", "file", "the key"], ...rows])}

What \`--write\` puts there for a service at https://svc.example.com:

${snippets.join("\n\n")}
`;
}

const fileText = ({ file }: Client): string =>
  `\`${file({ home: "~", platform: "linux", env: {} })}\``;

const keyText = ({ variable, hosted }: Client): string => {
  const where = variable === null ? "in the file, which is this user's alone" : `\`${variable}\``;
  return "not" in hosted ? `${where}; local alone` : where;
};

const URL = "https://svc.example.com";

function snippetText({ id, title, under, variable, hosted, format, note, beside }: Client): string {
  if ("not" in hosted) return "";
  const facts = {
    url: `${URL}/mcp`,
    baseUrl: URL,
    key: variable ?? "svc_live_…",
    program: ["npx"] as [string],
  };
  const settings = { ...beside, [under]: { [SERVER]: hosted(facts) } };
  const text = format === "toml" ? stringify(settings).trim() : JSON.stringify(settings, null, 2);
  return `\`${id}\` (${title}):${note ? ` ${note}` : ""}\n\n\`\`\`${format}\n${text}\n\`\`\``;
}

function leavesOf(command: Command): Command[] {
  const own = command.commands.flatMap(leavesOf);
  return isLeaf(command) ? [command, ...own] : own;
}

/** `svc mcp` does something by itself, too. Other commands that hold commands have no usage without one of them. */
const isLeaf = (command: Command): boolean =>
  command.commands.length === 0 || command.name() === "mcp";

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}

function commandText(command: Command): string {
  const args = command.registeredArguments;
  const told = args.filter(({ description }) => description).map(argumentLine);
  const lines = [...told, ...command.options.map(optionLine)];
  const usage = [nameOf(command), ...args.map(usageOf)].join(" ");
  return `## \`${usage}\`

${command.description()}
${lines.length > 0 ? `\n${lines.join("\n")}\n` : ""}`;
}

const usageOf = (argument: Argument): string => {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
};

const argumentLine = (argument: Argument): string =>
  `- \`${argument.name()}\`: ${argument.description}${defaultOf(argument)}`;

const optionLine = (option: Option): string =>
  `- \`${option.flags}\`: ${option.description}${option.negate ? "" : defaultOf(option)}`;

const defaultOf = ({ defaultValue }: { defaultValue?: unknown }): string =>
  typeof defaultValue === "string" || typeof defaultValue === "number"
    ? ` (\`${defaultValue}\` unless said)`
    : "";
