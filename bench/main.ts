import { benchBrowser } from "./browser/bench.ts";
import { benchStealth } from "./browser/stealth.ts";
import { benchBurst } from "./burst/bench.ts";
import { benchEgress } from "./egress/bench.ts";
import { benchDesktop } from "./desktop/bench.ts";
import { benchGateway } from "./gateway/bench.ts";
import { benchMcp } from "./mcp/bench.ts";
import { benchNeighbour } from "./neighbour/bench.ts";
import { benchHostileGuest } from "./hostile-guest/bench.ts";
import { type Options, readOptions } from "./options.ts";
import { benchObserve } from "./observe/bench.ts";
import { benchProfiles } from "./profiles/bench.ts";
import { benchRecording } from "./recording/bench.ts";
import { benchRelay } from "./relay/bench.ts";
import { runToEnd } from "./service/endings.ts";
import { benchSdk } from "./sdk/bench.ts";
import { benchVmGateway } from "./vm-gateway/bench.ts";
import { benchCode } from "./vm/code.ts";
import { benchVm } from "./vm/bench.ts";
import { benchVmStates } from "./vm/states.ts";

const BENCHES: Record<string, (options: Options) => Promise<void>> = {
  browser: (options) => (options.kind === "stealth" ? benchStealth : benchBrowser)(options),
  relay: benchRelay,
  gateway: benchGateway,
  burst: benchBurst,
  neighbour: benchNeighbour,
  "hostile-guest": benchHostileGuest,
  vm: benchVm,
  code: benchCode,
  desktop: benchDesktop,
  "vm-state": benchVmStates,
  "vm-gateway": benchVmGateway,
  profiles: benchProfiles,
  egress: benchEgress,
  recording: benchRecording,
  observe: benchObserve,
  mcp: benchMcp,
  sdk: benchSdk,
};
const USAGE = `npm run bench -- ${Object.keys(BENCHES).join(" | ")} [number | section …] [--n N] [--kind stealth] [--idle] [--json FILE]`;

await runToEnd(async () => {
  const options = readOptions(process.argv.slice(2));
  const bench = BENCHES[options.words[0] ?? ""];
  if (!bench) throw new Error(USAGE);
  await bench(options);
});
