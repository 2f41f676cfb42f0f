import { fork } from "node:child_process";
import { once } from "node:events";
import type { TestProject } from "vitest/node";
import { placeSwaggerUi } from "../../../scripts/swagger-ui.mjs";
import { stateFolder } from "../process/state-folder.ts";

/** Tests in workerd cannot listen: their fake pools live in a process of Node. */
export default async function setup(project: TestProject): Promise<() => void> {
  placeSwaggerUi();
  const farm = fork(new URL("./pool-farm.ts", import.meta.url));
  const [url] = await once(farm, "message");
  project.provide("fakePoolFarm", String(url));
  // The runtime of each file keeps its state in the temporary folder of this process.
  process.env.TMPDIR = stateFolder();
  return () => farm.disconnect();
}
