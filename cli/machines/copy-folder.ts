import { basename } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { CommandError } from "@svc/sdk/errors.ts";
import type { Sandbox } from "@svc/sdk/sandboxes.ts";
import { Refusal } from "../errors.ts";
import { type Count, meter } from "../terminal/progress.ts";

/** The target of a copy, and the bytes written. */
export interface Copied {
  path: string;
  bytes: number;
}

/** Copies a folder with all that is in it into a machine, as one stream of tar. */
export async function uploadFolder(box: Sandbox, from: string, to: string): Promise<Copied> {
  await box.files.mkdir(to);
  const bytes = await meter(`Copying ${basename(from)}/`, null, async (count) => {
    let sum = 0;
    const { packTar } = await import("modern-tar/fs");
    const stdin = passing(packTar(from), (done) => count((sum = done)));
    await unpackInside(box, to, Readable.toWeb(Readable.from(stdin)) as ReadableStream<Uint8Array>);
    return sum;
  });
  return { path: to, bytes };
}

async function unpackInside(
  box: Sandbox,
  to: string,
  stdin: ReadableStream<Uint8Array>,
): Promise<void> {
  try {
    await box.commands.run("tar", ["-C", to, "--no-same-owner", "-xf", "-"], {
      stdin,
      check: true,
    });
  } catch (error) {
    if (error instanceof CommandError) throw new Refusal(`Not all was copied: ${error.message}`);
    throw error;
  }
}

/** Copies a folder with all that is in it out of a machine. Its content is not trusted: nothing is written outside of `to`. */
export async function downloadFolder(box: Sandbox, from: string, to: string): Promise<Copied> {
  const bytes = await meter(`Copying ${basename(from)}/`, null, async (count) => {
    let sum = 0;
    const { unpackTar } = await import("modern-tar/fs");
    const target = unpackTar(to, {
      filter: ({ type }) => KINDS.includes(type),
      map: (header) => ({ ...header, mode: (header.mode ?? 0o644) & 0o777 }),
    });
    await pipeline(
      passing(packedInside(box, from), (done) => count((sum = done))),
      target,
    );
    return sum;
  });
  return { path: to, bytes };
}

/** The stream of tar of a folder inside; it throws unless it is whole. */
async function* packedInside(box: Sandbox, from: string): AsyncGenerator<Uint8Array, void> {
  const output = box.commands.stream("tar", ["-C", from, "-cf", "-", "."]);
  let words = "";
  try {
    for (;;) {
      const { done, value } = await output.next();
      if (done) {
        if (value.exitCode === 0 && !value.lostBytes) return;
        throw new Refusal(
          `Not all of ${from} was copied: tar ended with ${value.exitCode}. ${words}`,
        );
      }
      if (value.stream === "stdout") yield value.bytes;
      else words = (words + value.data).slice(-MOST_WORDS);
    }
  } finally {
    // A reader that stops early ends the program inside.
    await output.return({ exitCode: 0 });
  }
}

const MOST_WORDS = 500;
/** Devices and pipes of a machine are nothing here. */
const KINDS: readonly (string | undefined)[] = ["file", "link", "symlink", "directory", undefined];

async function* passing(
  parts: AsyncIterable<Uint8Array>,
  count: Count,
): AsyncGenerator<Uint8Array, void> {
  let done = 0;
  for await (const part of parts) {
    count((done += part.length));
    yield part;
  }
}
