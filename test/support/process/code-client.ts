import { createHash } from "node:crypto";
import type { CODE_METHODS } from "@svc/contract/control-channel/code-methods.ts";
import { isRefused } from "@svc/contract/control-channel/refusals.ts";
import {
  RunReader,
  type WholeAnswer,
  type WholeResult,
} from "@svc/contract/control-channel/run-reader.ts";
import type * as z from "zod";
import { openControlClient } from "./control-client.ts";

type RunParams = z.input<(typeof CODE_METHODS)["code.run"]["params"]>;

/** What a run has said, and how many messages and connections that took. */
export interface Said {
  stdout: string;
  stderr: string;
  results: WholeResult[];
  answer: WholeAnswer;
  messages: number;
  connections: number;
}

/** How a run is followed. */
interface Following {
  /** The first connection is lost with the message of this number. */
  at?: number;
  headers?: Record<string, string>;
  /** Hears output instead of keeping it. */
  onOutput?: (channel: 1 | 2, bytes: Uint8Array) => void;
}

/** Runs code over a control URL to its end, as a customer does: a lost connection is followed by another one. */
export async function runCode(url: string, params: RunParams, how: Following = {}): Promise<Said> {
  const output: Record<1 | 2, Uint8Array[]> = { 1: [], 2: [] };
  const results: WholeResult[] = [];
  const onOutput = how.onOutput ?? ((channel, bytes) => void output[channel].push(bytes.slice()));
  const reader = new RunReader({ onOutput, onResult: (result) => void results.push(result) });
  const text = (channel: 1 | 2): string => Buffer.concat(output[channel]).toString();
  let messages = 0;
  for (let connections = 1; ; connections += 1) {
    const takes = (): boolean => (messages += 1) !== how.at;
    const { client, socket } = await openControlClient(
      url,
      how.headers ?? {},
      (method, heard) => reader.heard(method, heard),
      takes,
    );
    const { place } = reader;
    const bytes = { onBytes: reader.bytes };
    const call = place
      ? client.call("code.attach", { ...place, stream: true }, bytes)
      : client.call("code.run", { ...params, stream: true }, bytes);
    reader.begin(call.id);
    try {
      const answer = reader.answered(await call.result);
      return { stdout: text(1), stderr: text(2), results, answer, messages, connections };
    } catch (error) {
      if (!isRefused(error, "Disconnected") || !reader.place) throw error;
    } finally {
      socket.terminate();
    }
  }
}

/** Results as short as they can be compared: pictures by their digest. */
export const digested = (results: readonly WholeResult[]): object[] =>
  results.map((result) => ({
    ...result,
    ...(result.png !== undefined && { png: createHash("sha256").update(result.png).digest("hex") }),
  }));
