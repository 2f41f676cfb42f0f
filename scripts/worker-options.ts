import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { unstable_getMiniflareWorkerOptions } from "wrangler";

const CONFIG = "wrangler.toml";
const CACHE = "node_modules/.cache/svc";

type Options = ReturnType<typeof unstable_getMiniflareWorkerOptions>;
/** What Miniflare is told of the Worker, as wrangler.toml has it; without modules and without secrets. */
export type WorkerOptions = Omit<Options["workerOptions"], "modulesRules">;

/**
 * The options of wrangler.toml. Loading wrangler takes longer than all the rest of the gateway's start, so they are
 * kept beside the packages until wrangler.toml, the packages or the place of this folder change.
 */
export async function workerOptions(): Promise<WorkerOptions> {
  const inputs = await Promise.all([CONFIG, "package-lock.json"].map((name) => readFile(name)));
  const hash = createHash("sha256").update(process.cwd());
  for (const input of inputs) hash.update("\0").update(input);
  const file = join(CACHE, `worker-${hash.digest("hex").slice(0, 16)}.json`);
  return (await readKept(file)) ?? (await make(file));
}

async function readKept(file: string): Promise<WorkerOptions | null> {
  try {
    const kept: WorkerOptions = JSON.parse(await readFile(file, "utf8"));
    return kept;
  } catch {
    return null;
  }
}

async function make(file: string): Promise<WorkerOptions> {
  const wrangler = await import("wrangler");
  const { workerOptions: all, externalWorkers } =
    wrangler.unstable_getMiniflareWorkerOptions(CONFIG);
  if (externalWorkers.length > 0) throw new Error(`${CONFIG} names a Worker beside this one`);
  const { modulesRules: _rules, ...worker } = all;
  // Wrangler adds the secrets that it finds in the environment: they belong in no file.
  const options = { ...worker, bindings: wrangler.unstable_readConfig({ config: CONFIG }).vars };
  await mkdir(CACHE, { recursive: true });
  const draft = `${file}.${process.pid}.new`;
  await writeFile(draft, JSON.stringify(options));
  await rename(draft, file);
  return options;
}
