import { Console } from "node:console";
import { lookAtRoom } from "./doctor/room.ts";
import { lookAtMachines } from "./doctor/machines.ts";
import { lookAtPort } from "./doctor/port.ts";
import { lookAtPrograms } from "./doctor/programs.ts";
import ensureSystemPackages, { ensureMachinePackages } from "./system-packages.ts";

// Prints for `svc doctor` what this computer has of what hosts need, as JSON. `--fix` installs what is missing first, as
// `npm start` does: as root, or it prints the line that does.
globalThis.console = new Console(process.stderr);
if (process.argv.includes("--fix")) {
  ensureSystemPackages();
  ensureMachinePackages();
}
const looks = [lookAtPrograms(), lookAtMachines(), lookAtRoom(), lookAtPort()];
process.stdout.write(JSON.stringify((await Promise.all(looks)).flat()));
