import { execFile } from "node:child_process";
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface Finding {
  file: string;
  line: number;
  rule: string;
  message: string;
}
interface Report {
  diagnostics: {
    message: string;
    code: string;
    filename: string;
    labels: { span: { line: number } }[];
  }[];
}

/** A throw-away project laid out like this one, under the same law. */
export class ProbeTree implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), "svc-law-"));
  #folders = new Set<string>();

  constructor() {
    for (const file of ["rooms.ts", "oxlint.config.ts", "scripts/lint"])
      cpSync(file, join(this.root, file), { recursive: true });
    for (const file of globSync("tsconfig*.json")) cpSync(file, join(this.root, file));
    symlinkSync(join(process.cwd(), "node_modules"), join(this.root, "node_modules"));
  }

  write(file: string, text: string): void {
    mkdirSync(join(this.root, dirname(file)), { recursive: true });
    writeFileSync(join(this.root, file), text);
    this.#folders.add(file.split("/", 1)[0] ?? file);
  }

  async lint(...flags: string[]): Promise<Finding[]> {
    const args = [...flags, "--format", "json", ...this.#folders];
    const report = JSON.parse(await oxlint(this.root, args)) as Report;
    return report.diagnostics.map((found) => ({
      file: found.filename,
      line: found.labels[0]?.span.line ?? 0,
      rule: found.code,
      message: found.message,
    }));
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true });
  }
}

// It exits with 1 when it finds something: what counts here is the report.
function oxlint(cwd: string, args: string[]): Promise<string> {
  const bin = join(process.cwd(), "node_modules/oxlint/bin/oxlint");
  return new Promise((resolve) => {
    const options = { cwd, maxBuffer: 64 << 20 };
    execFile(process.execPath, [bin, ...args], options, (_error, stdout) => resolve(stdout));
  });
}
