import { CommanderError } from "commander";
import { Ended, judge } from "./errors.ts";
import { EXIT } from "./exit-codes.ts";
import { makeProgram } from "./program.ts";
import { oneLine } from "./terminal/plain.ts";
import { styled } from "./terminal/colours.ts";
import { endWithReader, flushed } from "./terminal/pipes.ts";

endWithReader();
// npm runs scripts at the root of the clone: paths are of the folder that it was called in.
const { INIT_CWD, npm_lifecycle_event } = process.env;
if (npm_lifecycle_event === "svc" && INIT_CWD) process.chdir(INIT_CWD);

const code = await run(process.argv.slice(2));
const isLost = await flushed();
// A read of stdin or an open socket must not keep the program alive.
process.exit(isLost ? EXIT.brokenPipe : code);

async function run(args: string[]): Promise<number> {
  const program = makeProgram();
  try {
    await program.parseAsync(args, { from: "user" });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof Ended) return error.code;
    // Commander has said what is wrong. Help and version that were asked for are no error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const { line, code: how } = judge(error);
    console.error(`${styled("red", "svc:", process.stderr)} ${oneLine(line)}`);
    return how;
  }
}
