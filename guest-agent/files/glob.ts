const SPECIAL = /[.+^${}()|[\]\\]/g;

/**
 * A test for paths relative to the folder that is searched: `*` and `?` stay inside a name, `**` crosses folders.
 * A pattern without a slash is for the name alone.
 */
export function globTest(glob: string): (relative: string) => boolean {
  const isForName = !glob.includes("/");
  const pattern = new RegExp(
    `^${glob
      .split(/(\*\*\/|\*\*|\*|\?)/)
      .map(translate)
      .join("")}$`,
  );
  return (relative) =>
    pattern.test(isForName ? relative.slice(relative.lastIndexOf("/") + 1) : relative);
}

function translate(part: string): string {
  switch (part) {
    case "**/":
      return "(?:.*/)?";
    case "**":
      return ".*";
    case "*":
      return "[^/]*";
    case "?":
      return "[^/]";
    default:
      return part.replace(SPECIAL, "\\$&");
  }
}
