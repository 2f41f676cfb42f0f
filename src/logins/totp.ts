const STEP_MS = 30_000;
const DIGITS = 6;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The one-time code of a secret in base32 at a time: RFC 6238 as sites use it, with SHA-1, 30 s and 6 digits. */
export async function oneTimeCode(secret: string, now: number): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-1" };
  const key = await crypto.subtle.importKey("raw", bytesOf(secret), algorithm, false, ["sign"]);
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(Math.floor(now / STEP_MS)));
  const mac = new DataView(await crypto.subtle.sign("HMAC", key, counter));
  const offset = mac.getUint8(mac.byteLength - 1) & 0x0f;
  const number = mac.getUint32(offset) & 0x7fffffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, "0");
}

/** Base32 without padding. Bits that fill no byte are dropped. */
function bytesOf(base32: string): Uint8Array<ArrayBuffer> {
  const bytes: number[] = [];
  let bits = 0;
  let count = 0;
  for (const sign of base32) {
    bits = ((bits << 5) | ALPHABET.indexOf(sign)) & 0xfff;
    count += 5;
    if (count < 8) continue;
    count -= 8;
    bytes.push((bits >> count) & 0xff);
  }
  return Uint8Array.from(bytes);
}
