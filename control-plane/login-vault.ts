import { fromBase64url, toBase64url } from "@svc/contract/base64url.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { LoginKeys } from "@svc/contract/secrets.ts";

/** The row that a secret is bound to: moved to another row, the secret cannot be read. */
export interface Belongs {
  org: string;
  profile: string;
  site: string;
}

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const IV_BYTES = 12;
const VERSION = "v1";
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Encrypts the secrets of saved logins: AES-256-GCM, as `v1.<key id>.<iv>.<sealed>`. The text names its key, so that
 * texts of an older key can still be read.
 */
export class LoginVault {
  readonly #keys: readonly string[];

  private constructor(keys: readonly string[]) {
    this.#keys = keys;
  }

  /** `keys`: SVC_LOGIN_KEY. Throws NotConfigured. */
  static open(keys: string | undefined): LoginVault {
    const parsed = LoginKeys.safeParse(keys ?? "");
    if (!parsed.success)
      throw new ApiError(
        "NotConfigured",
        `SVC_LOGIN_KEY ${parsed.error.issues[0]?.message ?? "must be set"}`,
      );
    return new LoginVault(parsed.data.split(","));
  }

  /** `name`: the name of the secret, so that no secret is read in place of another. */
  async seal(belongs: Belongs, name: string, secret: string): Promise<string> {
    const { id, key } = await keyOf(this.#keys[0] ?? "");
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
    const plain = encoder.encode(JSON.stringify({ [name]: secret }));
    const sealed = await crypto.subtle.encrypt(how(iv, belongs), key, plain);
    return [VERSION, id, toBase64url(iv), toBase64url(new Uint8Array(sealed))].join(".");
  }

  /** Reads a sealed secret. Throws NotConfigured when none of the keys has written it. */
  async open(belongs: Belongs, name: string, text: string): Promise<string> {
    const [version, id, iv, sealed] = text.split(".");
    const keys = await Promise.all(this.#keys.map(keyOf));
    const key = keys.find((one) => one.id === id)?.key;
    if (version !== VERSION || !key) throw unreadable();
    const [nonce, bytes] = [fromBase64url(iv ?? ""), fromBase64url(sealed ?? "")];
    if (!nonce || !bytes) throw unreadable();
    const opening = crypto.subtle.decrypt(how(nonce, belongs), key, bytes);
    const plain = await opening.catch(() => null);
    if (!plain) throw unreadable();
    const { [name]: secret } = JSON.parse(decoder.decode(plain)) as Record<string, string>;
    if (secret === undefined) throw unreadable();
    return secret;
  }
}

const unreadable = (): ApiError =>
  new ApiError(
    "NotConfigured",
    "The saved login was encrypted with another SVC_LOGIN_KEY. Add that key, or save the login again.",
  );

const how = (iv: Uint8Array<ArrayBuffer>, { org, profile, site }: Belongs) => ({
  name: "AES-GCM",
  iv,
  additionalData: encoder.encode(`${org}|${profile}|${site}`),
});

const ID_BYTES = 6;

async function keyOf(base64: string): Promise<{ id: string; key: Key }> {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const key = await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
  return { id: toBase64url(digest.slice(0, ID_BYTES)), key };
}
