import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { EXEC_OUTPUT_BYTES } from "@svc/contract/control-channel/protocol.ts";
import { ExecResult } from "@svc/contract/vm/exec.ts";
import { expect, onTestFinished, test } from "vitest";
import { KeptBytes, KeptOutput } from "../../../vm-host/guest/kept-output.ts";
import { replyExecuted } from "../../../vm-host/server/exec-answer.ts";

/** The answer of an exec whose command has printed these bytes. */
async function answerOf(stdout: Buffer[], stderr: Buffer[]): Promise<ExecResult> {
  const outputs = [stdout, stderr].map((parts) => {
    const output = new KeptOutput(new KeptBytes());
    for (const part of parts) output.add(part);
    return output;
  });
  const [out, err] = outputs;
  if (!out || !err) throw new Error("no output");
  const done = { exitCode: 0, truncated: false, stdout: out, stderr: err, free: () => {} };
  const server = createServer((_request, response) => void replyExecuted(response, done));
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return ExecResult.parse(await answer.json());
}

test("an exec names the streams that were not UTF-8, and no other", async () => {
  const good = Buffer.from("naïve €");
  const bad = Buffer.from([0x61, 0xff, 0x62]);
  expect((await answerOf([good], [])).notUtf8).toBeUndefined();
  const answer = await answerOf([bad], [good]);
  expect(answer).toEqual({
    exitCode: 0,
    stdout: "a\ufffdb",
    stderr: "naïve €",
    notUtf8: ["stdout"],
  });
  expect((await answerOf([bad], [bad])).notUtf8).toEqual(["stdout", "stderr"]);
});

test("a replacement character that was printed is UTF-8, a character that ends too soon is not", async () => {
  expect((await answerOf([Buffer.from("\ufffd")], [])).notUtf8).toBeUndefined();
  expect((await answerOf([Buffer.from("€").subarray(0, 2)], [])).notUtf8).toEqual(["stdout"]);
});

test("a character that comes in two parts or over two blocks, or that the end of what is kept parts, is UTF-8", async () => {
  const euro = Buffer.from("€");
  const parts = [euro.subarray(0, 1), euro.subarray(1)];
  expect((await answerOf(parts, [])).notUtf8).toBeUndefined();
  const many = Buffer.from("€".repeat(50_000));
  expect((await answerOf([many], [])).notUtf8).toBeUndefined();
  const whole = Buffer.from("€".repeat(Math.ceil(EXEC_OUTPUT_BYTES / 3)));
  const kept = whole.subarray(0, EXEC_OUTPUT_BYTES);
  expect((await answerOf([kept], [])).notUtf8).toBeUndefined();
});
