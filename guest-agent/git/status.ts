import type { GitChange, GitStatus } from "@svc/contract/control-channel/git-methods.ts";

const CHANGES: Readonly<Record<string, GitChange>> = {
  ".": "unmodified",
  M: "modified",
  T: "typechange",
  A: "added",
  D: "deleted",
  R: "renamed",
  C: "copied",
  U: "unmerged",
  "?": "untracked",
};
/** Fields before the path, by the kind of line. */
const FIELDS: Readonly<Record<string, number>> = { "1": 8, "2": 9, u: 10, "?": 1 };

/** Reads `git status --porcelain=v2 --branch -z`. */
export function parseStatus(text: string): GitStatus {
  const status: GitStatus = { branch: null, ahead: 0, behind: 0, clean: true, files: [] };
  const lines = text.split("\0");
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const [kind = ""] = line;
    if (kind === "#") readHeader(line, status);
    else if (kind in FIELDS) {
      status.files.push(fileOf(kind, line, kind === "2" ? lines[++at] : undefined));
      status.clean = false;
    }
  }
  return status;
}

function readHeader(line: string, status: GitStatus): void {
  const [, name, first = "", second = ""] = line.split(" ");
  if (name === "branch.head" && first !== "(detached)") status.branch = first;
  if (name === "branch.upstream") status.upstream = first;
  if (name !== "branch.ab") return;
  status.ahead = Math.abs(Number(first));
  status.behind = Math.abs(Number(second));
}

function fileOf(kind: string, line: string, from: string | undefined): GitStatus["files"][number] {
  const fields = line.split(" ");
  const path = fields.slice(FIELDS[kind]).join(" ");
  const [index = "?", worktree = "?"] = kind === "?" ? "??" : (fields[1] ?? "");
  return {
    path,
    index: CHANGES[index] ?? "modified",
    worktree: CHANGES[worktree] ?? "modified",
    ...(from !== undefined && { from }),
  };
}
