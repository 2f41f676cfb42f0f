import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Cli } from "../cli.ts";
import { meter } from "../terminal/progress.ts";

/** Prints where a replay plays, or keeps its events in a file. */
export async function fetchReplay(
  cli: Cli,
  id: string,
  { output }: { output?: string },
): Promise<void> {
  const replay = (await cli.svc()).browsers.replay(id);
  if (output === undefined) {
    cli.note("Waiting for the replay …");
    const found = await replay.wait();
    return cli.print(found, found.playerUrl);
  }
  const bytes = await meter(`Fetching the replay into ${output}`, null, async (count) => {
    let sum = 0;
    const counted = async function* (parts: AsyncIterable<Uint8Array>) {
      for await (const part of parts) {
        count((sum += part.length));
        yield part;
      }
    };
    const source = Readable.fromWeb(await replay.download());
    await pipeline(source, counted, createWriteStream(output, { mode: 0o600 }));
    return sum;
  });
  cli.print({ file: output, bytes }, output);
}
