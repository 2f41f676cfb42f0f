import { fork } from "node:child_process";
import { once } from "node:events";
import type { TestProject } from "vitest/node";

/** Tests in workerd cannot listen: their fake pools live in a process of Node. */
export default async function setup(project: TestProject): Promise<() => void> {
  const farm = fork(new URL("./pool-farm.ts", import.meta.url));
  const [url] = await once(farm, "message");
  project.provide("fakePoolFarm", String(url));
  return () => farm.disconnect();
}
