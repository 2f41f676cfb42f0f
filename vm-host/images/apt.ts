import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../programs.ts";

const SOURCES = "/etc/apt/sources.list.d";
/** Settings of this machine that its archive may need. */
const SETTINGS = /^(Acquire::(?:Check-Valid-Until|Check-Date|https?::.*)) "(.*)";$/;

/** Where this machine itself gets its packages from. */
export interface Archive {
  /** `bookworm` */
  suite: string;
  /** Files with entries of this suite, other vendors' left out. */
  sources: string[];
  /** `Name "value"`, as an apt configuration has it. */
  settings: string[];
}

export async function readArchive(): Promise<Archive> {
  const release = await readFile("/etc/os-release", "utf8").catch(() => "");
  const suite = /^VERSION_CODENAME=(\w+)$/m.exec(release)?.[1];
  if (!suite || !/^ID=debian$/m.test(release))
    throw new Error("Images are built on Debian: this system is another one.");
  const names = await readdir(SOURCES).catch(() => []);
  const files = ["/etc/apt/sources.list", ...names.map((name) => join(SOURCES, name))];
  const offers = new RegExp(`(^|\\s)${suite}(-\\S+)?(\\s|$)`, "m");
  const read = await Promise.all(files.map((file) => readFile(file, "utf8").catch(() => "")));
  const sources = files.filter((_file, index) => offers.test(read[index] ?? ""));
  if (sources.length === 0) throw new Error(`No apt source of this machine has ${suite}.`);
  const lines = (await run("apt-config", ["dump"])).split("\n");
  const found = lines.map((line) => SETTINGS.exec(line)).filter((match) => match !== null);
  return { suite, sources, settings: found.map(([, name, value]) => `${name} "${value}"`) };
}

/** Unpacks packages into a folder, without installing them. */
export async function unpack(packages: string[], folder: string, work: string): Promise<void> {
  const fetch = () => run("apt-get", ["download", "--quiet=2", ...packages], { cwd: work });
  // An old list names versions that the archive no longer has.
  await fetch().catch(async () => {
    await run("apt-get", ["update", "--quiet=2"]);
    await fetch();
  });
  for (const name of await readdir(work))
    if (name.endsWith(".deb")) await run("dpkg-deb", ["--extract", join(work, name), folder]);
}

/** The package of the newest cloud kernel, `linux-image-6.1.0-56-cloud-amd64`. */
export async function kernelPackage(): Promise<string> {
  const text = await run("apt-cache", ["depends", "--important", "linux-image-cloud-amd64"]);
  const name = /Depends: (linux-image-\S+)/.exec(text)?.[1];
  if (!name) throw new Error("apt knows no linux-image-cloud-amd64: run apt-get update.");
  return name;
}
