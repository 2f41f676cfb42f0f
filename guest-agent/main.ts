import { mkdir, writeFile } from "node:fs/promises";
import { Agent } from "./agent.ts";
import { Cgroups, readReserve, shareReserve } from "./cgroups.ts";
import { DevicePort } from "./channel/device.ts";
import { SocketPort } from "./channel/socket.ts";
import { Commands } from "./commands/commands.ts";
import { readConfig } from "./config.ts";
import { IdentityMemory } from "./identity/memory.ts";
import { Launcher } from "./launcher/launcher.ts";
import { InheritedPort } from "./shared/port.ts";

// Writes to a full port hold a thread each: files must not wait for them.
process.env["UV_THREADPOOL_SIZE"] ??= "8";
// What a command or a customer may cause is answered; the rest must not end everybody's work.
process.on("unhandledRejection", (error) => console.error("a rejection was not handled:", error));

const config = readConfig(process.env);
const { share } = config;
const reserve = share ? shareReserve(share) : readReserve();
const cgroups = config.cgroup === "" ? null : Cgroups.make(config.cgroup, reserve);
// The kernel shall not choose the agent, whatever the machine has run out of. Needs root.
await writeFile("/proc/self/oom_score_adj", "-900").catch(() => {});
await mkdir(config.home, { recursive: true });

// After the agent has joined its group: the helper is born there too.
const launcher = await Launcher.start(config.helper ?? undefined);
void launcher.gone.then(() => {
  console.error("the helper is gone");
  process.exit(1);
});

const agent = new Agent({
  launcher,
  memory: new IdentityMemory(config.root),
  root: config.root,
  isShare: share !== null,
  commands: (session, defaults) =>
    new Commands({ launcher, cgroups }, config.home, session, defaults),
});
await agent.recall();

const [control, bulk] = share
  ? [new InheritedPort(3), new InheritedPort(4)]
  : config.sockets
    ? await Promise.all([
        SocketPort.listen(config.sockets.control),
        SocketPort.listen(config.sockets.bulk),
      ])
    : await Promise.all([DevicePort.open("svc0", "small"), DevicePort.open("svc1", "large")]);
if (!control || !bulk) throw new Error("this machine has no ports svc0 and svc1");
for (const port of [control, bulk]) {
  const link = agent.join(port, port === control);
  port.read((bytes) => link.receive(bytes));
}
console.log("the agent is up");
