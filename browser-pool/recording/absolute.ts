const LINKS: ReadonlySet<string> = new Set(["src", "href", "xlink:href", "poster"]);
/** In time that grows with the text alone, whatever a page writes: no two parts of it can take the same characters. */
const URL_IN_CSS = /url\(\s*(?:"([^"]*)"|'([^']*)'|([^'"()\s]+))\s*\)/g;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/** A URL of a page, as it is without the page. */
function absolute(url: string, base: string): string {
  const trimmed = url.trim();
  if (trimmed === "" || SCHEME.test(trimmed)) return url;
  return URL.parse(trimmed, base)?.href ?? url;
}

/** The same for all that a style sheet names. */
export const absoluteCss = (css: string, base: string): string =>
  css.replace(URL_IN_CSS, (all: string, ...found: (string | undefined)[]) => {
    const url = found[0] ?? found[1] ?? found[2] ?? "";
    // Names a part of the document itself.
    if (url.startsWith("#")) return all;
    const at = all.indexOf(url, "url(".length);
    return all.slice(0, at) + absolute(url, base) + all.slice(at + url.length);
  });

/** The value of an attribute as it is without its page: a replay is looked at elsewhere. */
export function absoluteAttribute(
  element: string,
  name: string,
  value: string,
  base: string,
): string {
  // A fragment that an SVG uses is a part of the document itself.
  if (value.startsWith("#") && (element === "use" || name === "xlink:href")) return value;
  if (LINKS.has(name) || (name === "data" && element === "object")) return absolute(value, base);
  if (name === "srcset") return absoluteSet(value, base);
  return name === "style" ? absoluteCss(value, base) : value;
}

const absoluteSet = (set: string, base: string): string =>
  set
    .split(/,\s+/)
    .map((each) => {
      const [url = "", ...size] = each.trim().split(/\s+/);
      return [absolute(url, base), ...size].join(" ");
    })
    .join(", ");
