import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { expect, test } from "vitest";

const MODULE = JSON.stringify(resolve("browser-pool/playwright-process/programs.ts"));

/** What comes of each way to start a program, in a process that has closed them. */
function attempts(body: string): unknown {
  const script = `
    import * as childProcess from "node:child_process";
    import { createRequire } from "node:module";
    const { closePrograms } = await import(${MODULE});
    closePrograms();
    const own = createRequire("/")("node:child_process");
    const said = {};
    const attempt = (name, work) => {
      try { work(); said[name] = "started"; } catch (error) { said[name] = error.message; }
    };
    ${body}
    console.log(JSON.stringify(said));`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--input-type=module", "--eval", script],
    { encoding: "utf8" },
  );
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

test("a Playwright starts no program but ffmpeg", () => {
  const said = attempts(`
    attempt("spawn", () => own.spawn("true"));
    attempt("a shell", () => own.spawn("/usr/bin/ffmpeg; true", { shell: true }));
    attempt("exec", () => own.exec("true"));
    attempt("execFile", () => own.execFile("true"));
    attempt("fork", () => own.fork("/dev/null"));
    attempt("spawnSync", () => own.spawnSync("true"));
    attempt("execSync", () => own.execSync("true"));
    attempt("execFileSync", () => own.execFileSync("true"));
    attempt("ffmpeg", () => own.spawn("/usr/bin/ffmpeg", ["-version"]).on("error", () => {}));`);
  const refused = "No program may be started here.";
  expect(said).toEqual({
    spawn: refused,
    "a shell": refused,
    exec: refused,
    execFile: refused,
    fork: refused,
    spawnSync: refused,
    execSync: refused,
    execFileSync: refused,
    ffmpeg: "started",
  });
});
