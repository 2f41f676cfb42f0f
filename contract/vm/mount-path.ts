import * as z from "zod";
import { LIMITS } from "../limits.ts";

/** Folders of the machine itself: nothing is mounted at them or below. */
const SYSTEM = ["/dev", "/opt/svc", "/proc", "/run", "/sys"];
/** Folders whose content must stay visible: nothing is mounted at them, but below them. */
const NEEDED = ["/", "/bin", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr"];

/** Where a volume is mounted: absolute, without `..`; two spellings of one path are one (document 2: unique). */
export const MountPath = z
  .string()
  .max(LIMITS.filePathCharacters)
  .refine((path) => path.startsWith("/") && !path.includes("\0"), "must be absolute")
  .refine((path) => !path.split("/").includes(".."), "must have no .. in it")
  .transform(plainPath)
  .refine((path) => !NEEDED.includes(path) && !isWithin(path, SYSTEM), "is a place of the system");

/** Without empty parts, dots, and a slash at its end. */
function plainPath(path: string): string {
  return `/${path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/")}`;
}

const isWithin = (path: string, folders: string[]): boolean =>
  folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
