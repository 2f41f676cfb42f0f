/** Whether a text is an http or https origin. A slash at the end is allowed, as in a URL. */
export function isOrigin(text: string): boolean {
  if (!/^https?:/i.test(text) || !URL.canParse(text)) return false;
  const { href, origin } = new URL(text);
  return href === `${origin}/` && !/[?#@]/.test(text);
}
