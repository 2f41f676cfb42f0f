/** The source of the test or the group that has this name, with the table of its cases; null when there is none. */
export function blockOf(source: string, name: string): string | null {
  const at = source.indexOf(name);
  if (at < 0) return null;
  const lines = source.split("\n");
  const named = source.slice(0, at).split("\n").length - 1;
  const isStart = (line: string): boolean => /^ *(test|describe)[.(]/.test(line);
  const start = lines.slice(0, named + 1).findLastIndex(isStart);
  if (start < 0) return null;
  const indent = /^ */.exec(lines[start] ?? "")?.[0] ?? "";
  const isEnd = (line: string): boolean => line === `${indent}});` || line === `${indent});`;
  const length = lines.slice(named).findIndex(isEnd);
  return lines.slice(start, length < 0 ? undefined : named + length + 1).join("\n");
}
