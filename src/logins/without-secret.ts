/** A place that a browser is at. */
interface Place {
  url: string;
  title: string;
}

/**
 * The place as it may be answered, without the password: a form that sends its fields by GET shows the password in its URL,
 * and a page without a title has its URL for one.
 */
export function withoutSecret({ url, title }: Place, password: string): Place {
  const shows = (text: string): boolean =>
    [text, decoded(text), decoded(text.replaceAll("+", " "))].some((each) =>
      each.includes(password),
    );
  return { url: URL.canParse(url) ? shortened(url, shows) : "", title: shows(title) ? "" : title };
}

function shortened(url: string, shows: (text: string) => boolean): string {
  const { origin, pathname } = new URL(url);
  return [url, origin + pathname].find((text) => !shows(text)) ?? origin;
}

/** A text with its percent signs read, where they are UTF-8. */
const decoded = (text: string): string =>
  text.replaceAll(/(?:%[\da-f]{2})+/gi, (part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
