// Plain JavaScript: the launcher asks this under whatever Node the machine has, from 18 on.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * @typedef {{ version?: string, integrity?: string, link?: boolean, optional?: boolean,
 *   os?: string | string[], cpu?: string | string[], libc?: string | string[] }} Package
 */

/**
 * Whether node_modules holds what package-lock.json names. npm writes its own copy of the lock file into
 * node_modules as the last step of an install, so an install that broke off does not count.
 * @param {string} root
 */
export function isInstalled(root) {
  const wanted = packages(join(root, "package-lock.json"));
  const present = packages(join(root, "node_modules", ".package-lock.json"));
  if (!wanted || !present) return false;
  const names = Object.keys(wanted).filter((name) => name.includes("node_modules/"));
  return (
    names.every((name) => isAsWanted(wanted[name], present[name])) &&
    Object.keys(present).every((name) => name in wanted)
  );
}

/**
 * @param {string} file
 * @returns {Record<string, Package> | undefined}
 */
function packages(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages;
  } catch {
    return undefined;
  }
}

/**
 * @param {Package | undefined} wanted
 * @param {Package | undefined} present
 */
function isAsWanted(wanted, present) {
  if (!wanted) return true;
  if (!present) return Boolean(wanted.optional) && !isForThisMachine(wanted);
  return wanted.version === present.version && wanted.integrity === present.integrity;
}

// Optional packages without a platform are parts of a fallback for machines that have no native one.
/** @param {Package} wanted */
function isForThisMachine({ os, cpu, libc }) {
  if (!os) return false;
  return allows(os, process.platform) && allows(cpu, process.arch) && allows(libc, libcName());
}

/**
 * @param {string | string[] | undefined} list
 * @param {string} value
 */
function allows(list, value) {
  return list === undefined || [list].flat().includes(value);
}

function libcName() {
  const report = /** @type {{ header?: { glibcVersionRuntime?: string } }} */ (
    process.report?.getReport() ?? {}
  );
  return report.header?.glibcVersionRuntime ? "glibc" : "musl";
}
