import type { ServerResponse } from "node:http";
import { whenDrained } from "@svc/host-kit/drain.ts";
import type { Executed } from "../guest/guest.ts";
import type { KeptOutput } from "../guest/kept-output.ts";

/**
 * Answers with an `ExecResult`. Output is written piece by piece, as fast as the caller takes it: as one text the output of a
 * command that prints NUL bytes is six times its size, and no other machine is served while that is made.
 */
export async function replyExecuted(response: ServerResponse, done: Executed): Promise<void> {
  const { exitCode, timedOut, oom, truncated, stdout, stderr } = done;
  const flags = { exitCode, timedOut, oom, truncated: truncated || undefined };
  response.writeHead(200, { "content-type": "application/json" });
  response.write(`${JSON.stringify(flags).slice(0, -1)},"stdout":"`);
  await writeText(response, stdout);
  response.write('","stderr":"');
  await writeText(response, stderr);
  // Known once all of it was written.
  const streams = Object.entries({ stdout, stderr }).filter(([, output]) => !output.isUtf8);
  const notUtf8 = streams.map(([name]) => name);
  response.end(notUtf8.length > 0 ? `","notUtf8":${JSON.stringify(notUtf8)}}` : '"}');
}

async function writeText(response: ServerResponse, output: KeptOutput): Promise<void> {
  for (const piece of output.pieces()) {
    if (response.destroyed) return;
    const isFull = !response.write(JSON.stringify(piece).slice(1, -1));
    if (isFull && !response.destroyed) await whenDrained(response);
  }
}
