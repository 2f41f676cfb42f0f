import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { eachChunk } from "@svc/host-kit/each-chunk.ts";
import { expect, test } from "vitest";

const never = new Promise<void>(() => {});

test("a body is at its end when its last chunk is taken, not before", async () => {
  const body = new PassThrough();
  const seen: string[] = [];
  const gate = Promise.withResolvers<boolean>();
  const isRead = Promise.withResolvers<void>();
  const over = eachChunk(
    body,
    (chunk) => {
      seen.push(chunk.toString());
      isRead.resolve();
      return gate.promise;
    },
    never,
  ).then(() => seen.push("end"));
  body.end("last");
  await isRead.promise;
  for (let turns = 0; turns < 10; turns += 1) await turn();
  expect(seen).toEqual(["last"]);
  gate.resolve(true);
  await over;
  expect(seen).toEqual(["last", "end"]);
});

test("a last chunk that cannot be taken is an error, not the end", async () => {
  const body = new PassThrough();
  const over = eachChunk(
    body,
    async () => {
      await turn();
      throw new Error("full");
    },
    never,
  );
  body.end("last");
  await expect(over).rejects.toThrow("full");
});

test("a body of no chunks ends", async () => {
  const body = new PassThrough();
  body.end();
  await expect(eachChunk(body, () => Promise.resolve(true), never)).resolves.toBeUndefined();
});
