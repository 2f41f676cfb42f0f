import { POOL_SETTINGS } from "@svc/browser-pool/config.ts";
import type { SettingText } from "@svc/host-kit/settings.ts";
import { VM_HOST_SETTINGS } from "@svc/vm-host/config.ts";
import { WORKER_SETTINGS } from "../../src/settings.ts";
import { START_SETTINGS } from "../start/settings.ts";
import { table } from "./table.ts";

/** The programs that read variables, in the order in which a newcomer meets them. */
const READERS: Record<string, readonly SettingText[]> = {
  "npm start": Object.values(START_SETTINGS),
  gateway: WORKER_SETTINGS,
  "browser pool": Object.values(POOL_SETTINGS),
  "VM host": Object.values(VM_HOST_SETTINGS),
};

/** One reader's view of a variable. */
interface Reading {
  reader: string;
  setting: SettingText;
}

/** The names of all variables, in alphabetical order. */
export const VARIABLES: readonly string[] = [
  ...new Set(Object.values(READERS).flatMap((settings) => settings.map(({ name }) => name))),
].toSorted();

/** docs/CONFIGURATION.md: every environment variable, by the schemas that read them. */
export function configurationDocument(): string {
  const rows = VARIABLES.map((name) => rowOf(name, readingsOf(name)));
  return `${HEAD}
${table([["variable", "default", "meaning", "read by"], ...rows])}
${REST}`;
}

const readingsOf = (name: string): Reading[] =>
  Object.entries(READERS).flatMap(([reader, settings]) =>
    settings.filter((setting) => setting.name === name).map((setting) => ({ reader, setting })),
  );

function rowOf(name: string, readings: Reading[]): string[] {
  const meaning = readings[0]?.setting.meaning ?? "";
  const readers = readings.map(({ reader }) => reader).join(", ");
  return [`\`${name}\``, defaultsOf(readings), meaning, readers].map(escaped);
}

/** What holds when a variable is unset; reader by reader where that differs. */
function defaultsOf(readings: Reading[]): string {
  const byText = Map.groupBy(readings, ({ setting }) => defaultOf(setting));
  const texts = [...byText].map(([text, same]) => ({
    text,
    readers: same.map(({ reader }) => reader).join(", "),
  }));
  if (texts.length === 1) return texts[0]?.text ?? "";
  return texts.map(({ text, readers }) => `${readers}: ${text}`).join("; ");
}

function defaultOf({ default: standard, unit }: SettingText): string {
  if (standard === null) return "must be set";
  const isValue = /^[\w./:-]+$/.test(standard);
  const shown = isValue ? `\`${standard}\`` : standard;
  return unit !== null && isValue ? `${shown} ${unit}` : shown;
}

const escaped = (text: string): string => text.replaceAll("|", "\\|");

const HEAD = `# Configuration

Made from the schemas that read the variables by \`npm run docs\`: do not edit.

Every setting is an environment variable. Under \`npm start\` all of them are optional: it hands its environment to gateway
and hosts, and fills in what they need. An empty variable counts as unset; SVC_ALLOWED_HOSTS of
the gateway alone may be set and empty. A value that cannot be read stops the program,
which names the variable.
`;

const REST = `
On Cloudflare the variables of the gateway are secrets or \`[vars]\` of \`wrangler.toml\` ([DEPLOY.md](DEPLOY.md)).
`;
