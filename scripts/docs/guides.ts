import { readFileSync } from "node:fs";

/** A guide, as docs/README.md lists it. */
export interface Guide {
  title: string;
  /** The subject in a few words. */
  about: string;
  file: string;
}

/** The guides in the order of docs/README.md. */
export function guides(): Guide[] {
  const rows = readFileSync("docs/README.md", "utf8").matchAll(
    /^\| \[([^\]]+)\]\((guides\/[\w-]+\.md)\) +\| (.*?) +\|$/gm,
  );
  return [...rows].map(([, title = "", file = "", about = ""]) => {
    return { title, about, file: `docs/${file}` };
  });
}

/** A page as a text of its own: links to other pages are their words. */
export const pageText = (file: string): string =>
  readFileSync(file, "utf8").replaceAll(/\[([^\]]+)\]\((?!https?:)[^)]*\)/g, "$1");
