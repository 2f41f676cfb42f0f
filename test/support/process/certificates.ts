import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** The key and the certificate of a server. */
export interface Identity {
  key: Buffer;
  cert: Buffer;
}

/** An authority that only this test knows, and who it vouches for. */
export class Authority {
  /** Its certificate, as NODE_EXTRA_CA_CERTS takes it. */
  readonly path: string;
  readonly #folder: string;
  #count = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    this.path = join(folder, "ca.pem");
  }

  static async create(): Promise<Authority> {
    const authority = new Authority(await mkdtemp(join(tmpdir(), "authority-")));
    const files = ["-keyout", authority.#file("ca.key"), "-out", authority.path];
    const facts = ["-subj", "/CN=An authority of a test", "-days", "2"];
    await run("openssl", ["req", "-x509", ...NEW_KEY, ...files, ...facts]);
    return authority;
  }

  /** `names`: as `DNS:localhost` and `IP:127.0.0.1`. `days`: until it is over; before now where less than none. */
  async identity(names: string[], days = 2): Promise<Identity> {
    this.#count += 1;
    const [key, csr, cert, extensions] = ["key", "csr", "pem", "ext"].map((ending) =>
      this.#file(`${this.#count}.${ending}`),
    ) as [string, string, string, string];
    await writeFile(extensions, `subjectAltName=${names.join(",")}\n`);
    await run("openssl", [
      "req",
      "-new",
      ...NEW_KEY,
      "-keyout",
      key,
      "-out",
      csr,
      "-subj",
      "/CN=x",
    ]);
    const by = ["-CA", this.path, "-CAkey", this.#file("ca.key"), "-CAcreateserial"];
    const facts = ["-days", String(days), "-extfile", extensions];
    await run("openssl", ["x509", "-req", "-in", csr, "-out", cert, ...by, ...facts]);
    return { key: await readFile(key), cert: await readFile(cert) };
  }

  async forget(): Promise<void> {
    await rm(this.#folder, { recursive: true });
  }

  #file(name: string): string {
    return join(this.#folder, name);
  }
}
