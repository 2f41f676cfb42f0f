import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { crc32 } from "node:zlib";
import { serving } from "../../support/fakes/serving.ts";

/** An archive of Debian packages, an index of Python's, and a repository, all of them files of one server. */
export class PackageServers {
  readonly port: number;
  readonly #server: Server;
  readonly #folder: string;

  private constructor(server: Server, folder: string) {
    this.#server = server;
    this.#folder = folder;
    this.port = (server.address() as AddressInfo).port;
  }

  static async start(): Promise<PackageServers> {
    const folder = await mkdtemp(join(tmpdir(), "packages-"));
    await Promise.all([archive(folder), index(folder)]);
    repository(folder);
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://a").pathname));
      const file = path.endsWith("/") ? `${path}index.html` : path;
      const body = await readFile(join(folder, file)).catch(() => null);
      response.writeHead(body ? 200 : 404, { "content-type": typeOf(file) }).end(body ?? "");
    };
    const server = createServer(serving(answer));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new PackageServers(server, folder);
  }

  /** Where a guest reaches it. */
  get url(): string {
    return `http://10.0.2.2:${this.port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

const typeOf = (file: string): string =>
  file.endsWith(".html") ? "text/html" : "application/octet-stream";

async function put(file: string, text: string | Buffer, mode = 0o644): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text, { mode });
}

/** One package, `npm`: a program that prints what it was asked, found before the npm of the image. */
async function archive(folder: string): Promise<void> {
  const root = join(folder, "deb");
  const facts =
    "Package: npm\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody\nDescription: a double\n";
  await put(join(root, "DEBIAN/control"), facts);
  await put(
    join(root, "usr/local/sbin/npm"),
    '#!/bin/sh\necho "npm $* by $(id -un) in $(pwd)"\n',
    0o755,
  );
  await mkdir(join(folder, "apt"));
  const deb = join(folder, "apt/npm.deb");
  execFileSync("dpkg-deb", ["--root-owner-group", "--build", root, deb], { stdio: "ignore" });
  const bytes = readFileSync(deb);
  const sum = createHash("sha256").update(bytes).digest("hex");
  const place = `Filename: ./npm.deb\nSize: ${bytes.length}\nSHA256: ${sum}\n`;
  await put(join(folder, "apt/Packages"), `${facts}${place}\n`);
}

/** One package, `svcdemo`. */
async function index(folder: string): Promise<void> {
  const info = "svcdemo-1.0.dist-info";
  const wheel = "svcdemo-1.0-py3-none-any.whl";
  const files: [string, string][] = [
    ["svcdemo.py", 'WORD = "from the index"\n'],
    [`${info}/METADATA`, "Metadata-Version: 2.1\nName: svcdemo\nVersion: 1.0\n"],
    [
      `${info}/WHEEL`,
      "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    ],
    [`${info}/RECORD`, "svcdemo.py,,\n"],
  ];
  await put(join(folder, "simple/svcdemo", wheel), zipOf(files));
  const page = `<!doctype html><html><body><a href="${wheel}">${wheel}</a></body></html>`;
  await put(join(folder, "simple/svcdemo/index.html"), page);
}

/** A repository with two revisions; the first is tagged. */
function repository(folder: string): void {
  const line = `git init -q work && cd work && git config user.email a@b && git config user.name a
    echo first > file && git add file && git commit -qm first && git tag v1
    echo second > file && git commit -qam second
    git clone -q --bare . ../repo.git && git -C ../repo.git update-server-info`;
  execFileSync("bash", ["-ec", line], { cwd: folder, stdio: "ignore" });
}

/** A zip file whose entries are not packed. */
function zipOf(files: [string, string][]): Buffer {
  const entries: Buffer[] = [];
  const list: Buffer[] = [];
  let at = 0;
  for (const [name, text] of files) {
    const [path, body] = [Buffer.from(name), Buffer.from(text)];
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(0x0021_0000, 6);
    common.writeUInt32LE(crc32(body), 10);
    common.writeUInt32LE(body.length, 14);
    common.writeUInt32LE(body.length, 18);
    common.writeUInt16LE(path.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(at, 10);
    const entry = Buffer.concat([Buffer.from("PK\u0003\u0004"), common, path, body]);
    entries.push(entry);
    list.push(Buffer.concat([Buffer.from("PK\u0001\u0002\u0014\0"), common, place, path]));
    at += entry.length;
  }
  const directory = Buffer.concat(list);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(at, 12);
  return Buffer.concat([...entries, directory, Buffer.from("PK\u0005\u0006"), end]);
}
