import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingMachine } from "../rig/needs.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 400_000;
const PATIENCE_MS = 300_000;
/** The documentation is the list: what it promises is what is run. */
const IMAGE = readFileSync(new URL("../../../docs/IMAGE.md", import.meta.url), "utf8");

/** What stands in backticks in the second column of the table under this heading. */
function column(heading: string): string[] {
  const [, after = ""] = IMAGE.split(`\n## ${heading}\n`);
  const [section = ""] = after.split("\n## ");
  return [...section.matchAll(/^\| `[^`]+` +\| `([^`]+)` +\|/gm)].map(([, text = ""]) => text);
}

/** A chart whose letters no single font has. A letter that no font has is a warning, and that an error. */
const CHART = `
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
plt.rcParams["font.sans-serif"] = ["SimHei", "DejaVu Sans"]
plt.title("売上 销售额 매출 Umsätze 😀 🚀 📈")
plt.xlabel("中文标签 ひらがな カタカナ")
plt.plot([1, 3, 2])
plt.savefig("/root/chart.png")
print("drawn")
`;

const WHEEL = `
import zipfile
with zipfile.ZipFile("/tmp/svcdemo-1.0-py3-none-any.whl", "w") as wheel:
  info = "svcdemo-1.0.dist-info/"
  wheel.writestr("svcdemo.py", "WORD = 'from pip'")
  wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: svcdemo\\nVersion: 1.0\\n")
  wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
  wheel.writestr(info + "RECORD", "")
`;

describe.skipIf(await missingMachine())("the image", { timeout: MACHINE_MS }, () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    await rig.place("one");
  }, 2 * MACHINE_MS);
  afterAll(() => rig?.stop());

  const run = (cmd: string, ...args: string[]) =>
    rig.exec("one", cmd, args, { timeoutMs: PATIENCE_MS });

  test("every command of the documentation is there and says its version", async () => {
    const lines = column("Commands");
    expect(lines.length).toBeGreaterThan(40);
    const each = 'for line in "$@"; do out=$($line 2>&1 </dev/null) || echo "$line: $? $out"; done';
    expect(await run("bash", "-c", each, "bash", ...lines)).toMatchObject({
      exitCode: 0,
      stdout: "",
    });
  });

  test("every module of Python that the documentation names can be imported", async () => {
    const modules = column("Python");
    expect(modules.length).toBeGreaterThan(9);
    const code = `${modules.map((name) => `import ${name}`).join("\n")}\nprint("all")`;
    expect(await run("python3", "-c", code)).toMatchObject({ stdout: "all\n" });
  });

  test("pip installs where no environment is made, and into one that is", async () => {
    await run("python", "-c", WHEEL);
    const install = "install --no-index --quiet /tmp/svcdemo-1.0-py3-none-any.whl";
    const word = "-c 'import svcdemo; print(svcdemo.WORD)'";
    const own = await run("sh", "-c", `pip ${install} && python3 ${word}`);
    expect(own).toEqual({ exitCode: 0, stdout: "from pip\n", stderr: "" });
    const venv = `python3 -m venv /tmp/venv && /tmp/venv/bin/pip ${install} && /tmp/venv/bin/python ${word}`;
    expect(await run("sh", "-c", venv)).toMatchObject({ exitCode: 0, stdout: "from pip\n" });
  });

  test("a library in C can be built for Python", async () => {
    const source = `#include <Python.h>
static struct PyModuleDef def = { PyModuleDef_HEAD_INIT, "tiny", 0, -1, 0 };
PyMODINIT_FUNC PyInit_tiny(void) { return PyModule_Create(&def); }`;
    const setup =
      'from setuptools import setup, Extension; setup(name="tiny", ext_modules=[Extension("tiny", ["tiny.c"])])';
    const line =
      'mkdir /tmp/tiny && cd /tmp/tiny && printf %s "$1" > tiny.c && printf %s "$2" > setup.py && pip install --no-index --no-build-isolation --quiet . && cd / && python3 -c "import tiny; print(tiny.__name__)"';
    expect(await run("sh", "-c", line, "sh", source, setup)).toMatchObject({ stdout: "tiny\n" });
  });

  test("npm installs a folder, and npx runs its program", async () => {
    const line = `mkdir -p /tmp/app /tmp/hello && cd /tmp/hello
      echo '{"name":"hello","version":"1.0.0","bin":"hello.js"}' > package.json
      printf '#!/usr/bin/env node\nconsole.log("from npx")' > hello.js
      cd /tmp/app && npm init -y >/dev/null && npm install --offline --silent ../hello && npx hello`;
    expect(await run("sh", "-c", line)).toMatchObject({ exitCode: 0, stdout: "from npx\n" });
  });

  test("commands and login shells speak UTF-8, and may open 65,536 files", async () => {
    const line = "ulimit -n; ulimit -Hn; locale charmap; python3 -c 'print(\"ä日本😀\")'";
    const expected = "65536\n65536\nUTF-8\nä日本😀\n";
    expect(await run("bash", "-c", line)).toMatchObject({ stdout: expected });
    expect(await run("env", "-i", "bash", "-lc", line)).toMatchObject({ stdout: expected });
  });

  test("a chart has letters of East Asia and emoji", async () => {
    const { stdout, stderr } = await run("python3", "-W", "error", "-c", CHART);
    expect(`${stdout}${stderr}`).toBe("drawn\n");
  });
});
