import { METHODS } from "@svc/contract/control-channel/methods.ts";
import { ANSWER_OUTPUT_BYTES } from "@svc/contract/control-channel/protocol.ts";
import { HOST_METHODS } from "@svc/contract/control-channel/host-methods.ts";
import type { Method } from "@svc/contract/control-channel/rpc-server.ts";
import { method } from "@svc/contract/control-channel/method.ts";
import { Collector } from "./collector.ts";
import type { Commands, Running } from "./commands.ts";
import { follow, toStream } from "./follow.ts";
import { foreground } from "./foreground.ts";

const KEEPS_TIME = { keepsTime: true };

/** The namespace `commands`. */
export function commandMethods(commands: Commands): Record<string, Method> {
  return {
    "commands.run": runMethod(commands),
    "commands.exec": execMethod(commands),
    "commands.start": method(METHODS["commands.start"], async ({ tag, hold, ...command }) => {
      const { info } = await commands.start(command, tag, hold);
      return { id: info.id, pid: info.pid };
    }),
    "commands.attach": method(METHODS["commands.attach"], async ({ id, from }, context) => {
      const running = commands.handle(id);
      context.stream.onBytes((_channel, bytes) => running.process?.write(bytes));
      const followed = follow(running.log, { ...toStream(context), from });
      running.letGo();
      await followed;
      context.signal.throwIfAborted();
      return running.ended;
    }),
    "commands.list": method(METHODS["commands.list"], async () => ({
      processes: [...commands.handles.values()].map(({ info, exit }) => ({
        ...info,
        ...(exit && { exitCode: exit.exitCode }),
      })),
    })),
    "commands.kill": method(METHODS["commands.kill"], async ({ id, signal }) => {
      commands.handle(id).process?.signal(signal);
      return { ok: true as const };
    }),
  };
}

function runMethod(commands: Commands): Method {
  return method(
    METHODS["commands.run"],
    async ({ stdin, stream = false, timeoutMs, ...command }, context) => {
      const running = await commands.run(command, stream || stdin !== undefined ? "pipe" : "none");
      if (stream) context.stream.onBytes((_channel, bytes) => running.process?.write(bytes));
      if (stdin !== undefined) void feed(running, stdin, !stream);
      const collector = new Collector(ANSWER_OUTPUT_BYTES);
      const taker = stream
        ? toStream(context)
        : { take: collector.take.bind(collector), signal: context.signal };
      const exit = await foreground(running, timeoutMs, { ...taker, from: 0 });
      return stream ? exit : { ...exit, ...collector.result() };
    },
    KEEPS_TIME,
  );
}

function execMethod(commands: Commands): Method {
  return method(
    HOST_METHODS["commands.exec"],
    async ({ timeoutMs, maxBytes, ...command }, context) => {
      const running = await commands.run(command, "none");
      const room = { 1: maxBytes, 2: maxBytes };
      const kept = { isWhole: true };
      const exit = await foreground(running, timeoutMs, {
        from: 0,
        signal: context.signal,
        take: (channel, bytes) => {
          if (bytes.length > room[channel]) kept.isWhole = false;
          const part = bytes.subarray(0, room[channel]);
          room[channel] -= part.length;
          return part.length === 0 || context.stream.write(channel, part);
        },
      });
      return { ...exit, ...(!kept.isWhole && { truncated: true as const }) };
    },
    KEEPS_TIME,
  );
}

async function feed(running: Running, stdin: string, isWhole: boolean): Promise<void> {
  await running.process?.write(Buffer.from(stdin));
  if (isWhole) await running.process?.write(Buffer.alloc(0));
}
