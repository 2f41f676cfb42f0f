/** A source of random bytes: passed in, so that pure code stays pure. */
export type RandomBytes = (length: number) => Uint8Array;

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Random bytes of the platform, in any runtime. */
export const randomBytes: RandomBytes = (length) => crypto.getRandomValues(new Uint8Array(length));

/** `length` characters of [0-9A-Za-z], each equally likely. */
export function randomText(length: number, random: RandomBytes = randomBytes): string {
  let text = "";
  while (text.length < length) {
    for (const byte of random(length)) {
      // 248 = 4 * 62: bytes above it would favour the first letters.
      if (byte < 248 && text.length < length) text += ALPHABET[byte % ALPHABET.length] ?? "";
    }
  }
  return text;
}

/** `org_` and 16 characters. */
export const newOrgId = (random?: RandomBytes): string => `org_${randomText(16, random)}`;

/** `prof_` and 16 characters. */
export const newProfileId = (random?: RandomBytes): string => `prof_${randomText(16, random)}`;

/** `vol_` and 32 hexadecimal characters (document 2, Volume). */
export const newVolumeId = (random: RandomBytes = randomBytes): string =>
  `vol_${[...random(16)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;

/** `tpl_` and 20 characters. */
export const newTemplateId = (random?: RandomBytes): string => `tpl_${randomText(20, random)}`;

/** `snap_` and 20 characters. */
export const newSnapshotId = (random?: RandomBytes): string => `snap_${randomText(20, random)}`;

/** `ho_` and 20 characters. */
export const newHandoffId = (random?: RandomBytes): string => `ho_${randomText(20, random)}`;

/** An API key taken apart: 12 characters of id, 40 of secret (document 1, Authentication 1). */
export interface ApiKey {
  keyId: string;
  secret: string;
}

const API_KEY = /^svc_live_([0-9A-Za-z]{12})_([0-9A-Za-z]{40})$/;

/** Makes a new key. The secret is shown once and never stored. */
export function newApiKey(random?: RandomBytes): ApiKey {
  return { keyId: randomText(12, random), secret: randomText(40, random) };
}

/** `svc_live_<id>_<secret>`. */
export const formatApiKey = ({ keyId, secret }: ApiKey): string => `svc_live_${keyId}_${secret}`;

/** Takes an API key apart; null when the text has not the shape of a key. */
export function parseApiKey(text: string): ApiKey | null {
  const [, keyId, secret] = API_KEY.exec(text) ?? [];
  return keyId && secret ? { keyId, secret } : null;
}
