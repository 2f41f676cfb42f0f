import * as z from "zod";

/** The row of an environment variable in docs/CONFIGURATION.md. */
export interface SettingText {
  name: string;
  /** One sentence: what the variable sets. */
  meaning: string;
  /** Unit of the value; null where it has none. */
  unit: string | null;
  /** The value of an unset or empty variable, in words; null where the variable must be set. */
  default: string | null;
}

/** An environment variable of a program: its row in the docs, and how its text becomes a value. */
export interface Setting<Value> extends SettingText {
  read(text: string | undefined): Value;
}

interface Words {
  name: string;
  meaning: string;
  unit?: string;
}

/** A variable with a default, written as in the environment. `defaultMeaning` replaces a computed default in the docs. */
export function setting<Value>(
  words: Words & { schema: z.ZodType<Value>; default: string; defaultMeaning?: string },
): Setting<Value> {
  const { name, meaning, unit = null, schema, default: standard, defaultMeaning } = words;
  const read = (text: string | undefined): Value => schema.parse(text || standard);
  return { name, meaning, unit, default: defaultMeaning ?? standard, read };
}

/** A variable that may be unset: its value is null then, and `defaultMeaning` says what happens. */
export function optionalSetting<Value>(
  words: Words & { schema: z.ZodType<Value>; defaultMeaning: string },
): Setting<Value | null> {
  const { name, meaning, unit = null, schema, defaultMeaning } = words;
  const read = (text: string | undefined): Value | null => (text ? schema.parse(text) : null);
  return { name, meaning, unit, default: defaultMeaning, read };
}

/** A variable without which the program does not start. */
export function requiredSetting<Value>(
  words: Words & { schema: z.ZodType<Value> },
): Setting<Value> {
  const { name, meaning, unit = null, schema } = words;
  const read = (text: string | undefined): Value => {
    if (!text) throw new Error("is not set");
    return schema.parse(text);
  };
  return { name, meaning, unit, default: null, read };
}

type Values<Settings> = {
  [Key in keyof Settings]: Settings[Key] extends Setting<infer Value> ? Value : never;
};

/** Reads all variables of a program. Throws one error that names every variable that cannot be read, without its value. */
export function readSettings<Settings extends Record<string, Setting<unknown>>>(
  settings: Settings,
  environment: NodeJS.ProcessEnv,
): Values<Settings> {
  const faults: string[] = [];
  const values = Object.entries(settings).map(([key, one]) => {
    try {
      return [key, one.read(environment[one.name])];
    } catch (error) {
      faults.push(`${one.name}: ${faultOf(error)}`);
      return [key, undefined];
    }
  });
  if (faults.length > 0)
    throw new Error(`Set these variables as docs/CONFIGURATION.md says:\n${faults.join("\n")}`);
  // Each key has the value that its setting has read.
  return Object.fromEntries(values) as Values<Settings>;
}

function faultOf(error: unknown): string {
  if (error instanceof z.ZodError) return error.issues.map(({ message }) => message).join(", ");
  return error instanceof Error ? error.message : String(error);
}
