const LF = 10;
const CR = 13;

/**
 * Hands on each line of a text, and returns what has no end yet. What draws over its line, a bar of progress, ends it, too; a
 * return at the very end may be half of an end.
 */
export function splitLines(text: string, onLine: (line: string) => void): string {
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code !== LF && code !== CR) continue;
    if (code === CR && at === text.length - 1) break;
    onLine(text.slice(from, at));
    if (code === CR && text.charCodeAt(at + 1) === LF) at += 1;
    from = at + 1;
  }
  return text.slice(from);
}
