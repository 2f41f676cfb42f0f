import { basename } from "node:path";

/** A replay that lies on the disk until the object store has it. */
export interface WaitingReplay {
  path: string;
  org: string;
  session: string;
  /** How many lines it has, when that is known. */
  lines?: number;
}

/** The end of the name of a file that is being written, and of one that is finished. */
export const DRAFT = ".part";
export const FINISHED = ".ndjson.gz";

const NAME = /^([A-Za-z0-9_-][\w.-]*)~([A-Za-z0-9_-][\w.-]*?)(\.part|\.ndjson\.gz)$/;

/** The name of a session's replay without its end, by which the next start knows whose it is. */
export const stemOf = (org: string, session: string): string => `${org}~${session}`;

/** The replay whose file has this path; null when it is the file of no replay. */
export function replayAt(path: string): (WaitingReplay & { isDraft: boolean }) | null {
  const [, org, session, end] = NAME.exec(basename(path)) ?? [];
  if (org === undefined || session === undefined) return null;
  return { path, org, session, isDraft: end === DRAFT };
}
