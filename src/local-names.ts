/** `SVC_ALLOWED_HOSTS`: names beside localhost under which a gateway on one machine answers. */
type Allowed = readonly string[];

const HTTP_PORT = "80";
const HTTPS_PORT = "443";

/** The names of a comma list: each a host name, or one with a port, which counts for that port alone. */
export function readAllowed(list: string): Allowed {
  return list
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter(Boolean);
}

/**
 * Whether a Host header names this machine, or an allowed name. A page of a stranger whose name was made to lead to
 * 127.0.0.1 (DNS rebinding) sends the stranger's name here.
 */
export function isLocalHost(host: string, allowed: Allowed): boolean {
  if (/[@/\\?#\s]/.test(host)) return false;
  return isLocalUrl(`http://${host}`, allowed);
}

/** Whether an Origin header is of this machine, or of an allowed name. `null` and what is no origin is neither. */
export function isLocalOrigin(origin: string, allowed: Allowed): boolean {
  return /^https?:\/\/[^@/\\?#\s]+$/i.test(origin) && isLocalUrl(origin, allowed);
}

const portOf = ({ port, protocol }: URL): string =>
  port || (protocol === "https:" ? HTTPS_PORT : HTTP_PORT);

function isLocalUrl(text: string, allowed: Allowed): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url) return false;
  // A name that ends in a dot is the same name.
  const name = url.hostname.replace(/\.$/, "");
  const isLoopback = name === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(name);
  const isLocal = name === "localhost" || name.endsWith(".localhost");
  return (
    isLoopback || isLocal || allowed.includes(name) || allowed.includes(`${name}:${portOf(url)}`)
  );
}
