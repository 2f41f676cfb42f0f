/** Where mail is handed over: SMTP, and its submission with and without TLS. */
const MAIL_PORTS: ReadonlySet<number> = new Set([25, 465, 587]);

/** Whether mail is handed over at this port: closed by default, since a host that sends spam is soon on every block list. */
export function isMailPort(port: number): boolean {
  return MAIL_PORTS.has(port);
}
