/**
 * Whether a URL matches a glob: `**` stands for anything, `*` for anything without a slash, all else for itself. The match
 * takes time in proportion to the product of both lengths, whatever the glob.
 */
export function matchesGlob(glob: string, url: string): boolean {
  const parts = glob.match(/\*\*|[^]/g) ?? [];
  // The places of the URL up to which the parts so far can match.
  let ends = new Set([0]);
  for (const part of parts) {
    const isStar = part === "*" || part === "**";
    ends = isStar ? stretched(ends, url, part === "**") : stepped(ends, url, part);
  }
  return ends.has(url.length);
}

function stepped(ends: ReadonlySet<number>, url: string, character: string): Set<number> {
  return new Set([...ends].filter((end) => url[end] === character).map((end) => end + 1));
}

function stretched(ends: ReadonlySet<number>, url: string, overSlashes: boolean): Set<number> {
  const after = new Set<number>();
  for (const start of ends)
    for (let end = start; !after.has(end); end += 1) {
      after.add(end);
      if (end >= url.length || (url[end] === "/" && !overSlashes)) break;
    }
  return after;
}
