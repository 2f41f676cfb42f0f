import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type OutputFile, build, stop } from "esbuild";

/** The guest agent as one file for Node 22, and what tells one build from another. */
export interface AgentBundle {
  text: string;
  sha256: string;
}

const KERNELS = "guest-agent/code/kernels";

/** Bundles the agent, the programs of its search threads and of its kernels in it. The same sources give the same bytes. */
export async function bundleAgent(): Promise<AgentBundle> {
  const { text: worker } = await bundle("guest-agent/files/search-worker.ts", {});
  const { text, contents } = await bundle("guest-agent/main.ts", {
    SEARCH_WORKER: JSON.stringify(worker),
    KERNELS: JSON.stringify(await kernels()),
  });
  await stop();
  return { text, sha256: createHash("sha256").update(contents).digest("hex") };
}

async function kernels(): Promise<Record<string, string>> {
  const names = (await readdir(KERNELS)).toSorted();
  const texts = names.map(async (name) => [name, await textOf(`${KERNELS}/${name}`)]);
  return Object.fromEntries(await Promise.all(texts)) as Record<string, string>;
}

async function textOf(path: string): Promise<string> {
  return path.endsWith(".ts") ? (await bundle(path, {})).text : readFile(path, "utf8");
}

async function bundle(source: string, define: Record<string, string>): Promise<OutputFile> {
  const result = await build({
    entryPoints: [source],
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node22",
    minify: true,
    keepNames: true,
    legalComments: "none",
    write: false,
    logLevel: "warning",
    define,
  });
  const [file] = result.outputFiles;
  if (!file) throw new Error("esbuild wrote nothing");
  return file;
}

/** Where a VM host looks for what runs inside its machines. */
export const AGENT = "dist/guest-agent/agent.mjs";

/** Writes the bundle for the machines' images, whole or not at all, and returns its hash. */
export async function writeAgent(path: string): Promise<string> {
  const { text, sha256 } = await bundleAgent();
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  // Beside the folder: everything in it becomes part of the machines.
  const draft = `${folder}.${process.pid}.new`;
  await writeFile(draft, text);
  await rename(draft, path);
  return sha256;
}

if (import.meta.main) {
  const path = process.argv[2] ?? "dist/guest-agent.mjs";
  console.log(await writeAgent(path), path);
}
