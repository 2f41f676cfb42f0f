import { statSync } from "node:fs";
import { chown } from "node:fs/promises";

/** Above the users that systems give to people, to services, and to browser slots. */
const FIRST_UID = 30_000;
/** One group for all hosts of a machine, so that they can use the same golden machines. */
const GROUP = 29_999;
const BLOCK = 100;
const BLOCKS = 200;

/**
 * The users that machines run as: a block of uids of this host's own, one of them per machine, with one group
 * for what they share. Null where this process is not root: machines then run as its own user.
 */
export class Confinement {
  readonly firstUid: number;
  readonly gid = GROUP;
  readonly #taken = new Set<number>();

  private constructor(block: number) {
    this.firstUid = FIRST_UID + block * BLOCK;
  }

  /** The block comes from the state folder's inode: two hosts of one machine have two. */
  static of(seed: number): Confinement | null {
    return process.getuid?.() === 0 ? new Confinement(seed % BLOCKS) : null;
  }

  get lastUid(): number {
    return this.firstUid + BLOCK - 1;
  }

  /** A uid that no living machine has. */
  take(): number {
    for (let uid = this.firstUid; uid <= this.lastUid; uid += 1) {
      if (this.#taken.has(uid)) continue;
      this.#taken.add(uid);
      return uid;
    }
    throw new Error("every user of this host is taken");
  }

  release(uid: number): void {
    this.#taken.delete(uid);
  }

  /** Gives a file or folder to a machine's user. */
  give(path: string, uid: number): Promise<void> {
    return chown(path, uid, this.gid);
  }
}

// A process that died before its child could ask for the signal sends none: the child looks whether it is still there.
const WITH_PARENT = '[ "$PPID" = "$1" ] || exit 1; shift; exec "$@"';

/** A command that dies with this process, gains nothing by what it executes, and is its own user. */
export function confined(
  command: string[],
  confinement: Confinement | null,
  uid: number | null,
): string[] {
  const user =
    confinement && uid !== null ? [`--reuid=${uid}`, `--regid=${confinement.gid}`, groups()] : [];
  const bounds = confinement ? ["--inh-caps=-all", "--bounding-set=-all"] : [];
  const asUser = ["setpriv", "--pdeathsig=KILL", "--no-new-privs", ...user, ...bounds, "--"];
  return [...asUser, "/bin/sh", "-c", WITH_PARENT, "sh", String(process.pid), ...command];
}

// Where the device belongs to a group, machines' users are in it. A group of root is no gift to make.
function groups(): string {
  const gid = statSync("/dev/kvm", { throwIfNoEntry: false })?.gid ?? 0;
  return gid === 0 ? "--clear-groups" : `--groups=${gid}`;
}
