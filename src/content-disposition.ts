/** Beside what encodeURIComponent leaves, these are no attr-char of RFC 5987. */
const ALSO_ENCODED = /['()*]/g;

/**
 * `Content-Disposition` of a download, named after the last segment of its path: `filename` in plain
 * ASCII for old clients, `filename*` (RFC 5987) where that is not the whole name.
 */
export function attachment(path: string): string {
  const last = path.split("/").findLast((segment) => segment !== "") ?? "download";
  const name = last.replaceAll(/\p{Surrogate}/gu, "\uFFFD");
  const plain = name.replaceAll(/[^ -~]|["\\%]/gu, "_");
  const exact = plain === name ? "" : `; filename*=UTF-8''${encoded(name)}`;
  return `attachment; filename="${plain}"${exact}`;
}

function encoded(name: string): string {
  return encodeURIComponent(name).replaceAll(
    ALSO_ENCODED,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
