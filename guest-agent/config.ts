import * as z from "zod";

const folder = z.string().regex(/^\//);

const Environment = z.object({
  /** Two unix sockets to listen on, instead of the ports of a machine: development and tests. */
  SVC_AGENT_CONTROL: folder.optional(),
  SVC_AGENT_BULK: folder.optional(),
  /** Root of cgroup 2; empty: commands are not grouped. */
  SVC_AGENT_CGROUP: z.string().default("/sys/fs/cgroup"),
  /** Where commands begin that name no folder. */
  SVC_AGENT_HOME: folder.default("/root"),
  /** Stands for the root of the file system wherever the agent writes of its own: tests. */
  SVC_AGENT_ROOT: folder.default("/"),
  /** It serves a share of a machine: its two ports are the open files 3 and 4, and this is what it may take, as JSON. */
  SVC_AGENT_SHARE: z.string().optional(),
  /** Another resident helper, as JSON: tests, which must not set this machine's clock. */
  SVC_AGENT_HELPER: z.string().optional(),
});

const Share = z.object({ memMb: z.int().positive(), tasks: z.int().positive() });

/** What the agent is told at its start. */
export function readConfig(environment: NodeJS.ProcessEnv) {
  const env = Environment.parse(environment);
  return {
    sockets:
      env.SVC_AGENT_CONTROL === undefined || env.SVC_AGENT_BULK === undefined
        ? null
        : { control: env.SVC_AGENT_CONTROL, bulk: env.SVC_AGENT_BULK },
    share: env.SVC_AGENT_SHARE === undefined ? null : Share.parse(JSON.parse(env.SVC_AGENT_SHARE)),
    cgroup: env.SVC_AGENT_CGROUP,
    home: env.SVC_AGENT_HOME,
    root: env.SVC_AGENT_ROOT,
    helper:
      env.SVC_AGENT_HELPER === undefined
        ? null
        : z.array(z.string()).parse(JSON.parse(env.SVC_AGENT_HELPER)),
  };
}
