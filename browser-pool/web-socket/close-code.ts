/** Whether a client may close with this code (RFC 6455, 7.4). */
export function isCloseCode(code: number): boolean {
  if (code >= 3000) return code < 5000;
  return code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code);
}
