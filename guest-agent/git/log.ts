/** Between the fields of a commit, and behind it: neither is in a message. */
const FIELD = "\u001f";
const RECORD = "\u001e";

/** For `git log --format`. */
export const LOG_FORMAT = ["%H", "%an", "%ae", "%aI", `%B${RECORD}`].join(FIELD);

/** Reads what git prints in that format. */
export function parseLog(text: string) {
  return text
    .split(RECORD)
    .map((record) => record.trimStart().split(FIELD))
    .filter(([commit]) => commit)
    .map(([commit = "", name = "", email = "", date = "", message = ""]) => ({
      commit,
      author: { name, email },
      date,
      message: message.trim(),
    }));
}
