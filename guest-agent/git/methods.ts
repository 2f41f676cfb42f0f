import { GIT_METHODS } from "@svc/contract/control-channel/git-methods.ts";
import type { Method } from "@svc/contract/control-channel/rpc-server.ts";
import type * as z from "zod";
import type { Commands } from "../commands/commands.ts";
import { method } from "@svc/contract/control-channel/method.ts";
import { Repository } from "./repository.ts";

type Shapes = typeof GIT_METHODS;
type Asked<Name extends keyof Shapes> = z.output<Shapes[Name]["params"]>;
type Told<Name extends keyof Shapes> = z.output<Shapes[Name]["result"]>;

/** The namespace `git`. */
export function gitMethods(commands: Commands): Record<string, Method> {
  const on = <Name extends keyof Shapes>(
    name: Name,
    handle: (repository: Repository, asked: Asked<Name>) => Promise<Told<Name>>,
  ): [string, Method] => [
    name,
    method<Shapes[Name]>(
      GIT_METHODS[name],
      (asked, { signal }) => handle(new Repository(commands, asked, signal), asked),
      // git ends with its time, and everything it has started.
      { keepsTime: true },
    ),
  ];
  return Object.fromEntries([
    on("git.clone", (repository, asked) => repository.clone(asked)),
    on("git.status", (repository) => repository.status()),
    on("git.add", async (repository, asked) => {
      await repository.add(asked);
      return { ok: true };
    }),
    on("git.commit", (repository, asked) => repository.commit(asked)),
    on("git.push", (repository, asked) => repository.push(asked)),
    on("git.pull", (repository, asked) => repository.pull(asked)),
    on("git.checkout", (repository, asked) => repository.checkout(asked)),
    on("git.branches", (repository) => repository.branches()),
    on("git.log", (repository, asked) => repository.log(asked)),
  ]);
}
