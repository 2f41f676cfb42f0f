import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

// A machine is a folder of programs on the PATH. Its package manager notes what it is told and obeys.
const APT_CACHE = `if [ -e "$0.lists" ]; then echo "  Candidate: 1.0"; else echo "  Candidate: (none)"; fi`;
const APT_GET = `echo "$@" >> "$0.log"
here=\${0%/*}
for word; do case "$word" in
  update) : > "$here/apt-cache.lists" ;;
  install) [ -e "$here/broken" ] && exit 100 ;;
  chromium-headless-shell) cp "$here/true" "$here/$word" ;;
  iproute2) cp "$here/true" "$here/ip" ;;
  bubblewrap) cp "$here/true" "$here/bwrap" ;;
  chromium) cp "$here/true" "$here/chromium" ;;
  xvfb) cp "$here/true" "$here/Xvfb" ;;
  ffmpeg) cp "$here/true" "$here/ffmpeg" ;;
  fontconfig) cp "$here/list-fonts" "$here/fc-list" ;;
  fonts-*) : > "$here/$word" ;;
esac; done`;
// Each package of fonts is there as an empty file.
const LIST_FONTS = `case "$1" in
  "Liberation Sans") name=fonts-liberation ;;
  Carlito|Caladea) name=fonts-crosextra-$1 ;;
  "Noto Sans Devanagari") name=fonts-noto-core ;;
  "Noto Sans CJK JP") name=fonts-noto-cjk ;;
  "Noto Color Emoji") name=fonts-noto-color-emoji ;;
esac
if [ -e "\${0%/*}/$(echo "$name" | tr A-Z a-z)" ]; then echo "$1"; fi`;
const ALL = "chromium-headless-shell bubblewrap iproute2";
const STEALTH = "chromium xvfb";
const FONTS =
  "fonts-liberation fonts-crosextra-carlito fonts-crosextra-caladea fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji";
const PAGES = `ffmpeg fontconfig ${FONTS}`;
const QUIET = "--quiet=2 -o DPkg::Lock::Timeout=120";
const INSTALL = `${QUIET} install --yes --no-install-recommends`;

let machine = "";
beforeEach(() => {
  machine = mkdtempSync(join(tmpdir(), "svc-machine-"));
  mkdirSync(join(machine, "bin"));
  for (const program of ["env", "sh", "cp", "tr"]) symlinkSync(`/bin/${program}`, at(program));
  program("true", "exit 0");
  program("list-fonts", LIST_FONTS);
});
afterEach(() => rmSync(machine, { recursive: true }));

const at = (name: string) => join(machine, "bin", name);

function program(name: string, body: string): void {
  writeFileSync(at(name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
}

function debian(uid: number, hasLists = true): void {
  program("id", `echo ${uid}`);
  program("apt-get", APT_GET);
  program("apt-cache", APT_CACHE);
  if (hasLists) writeFileSync(at("apt-cache.lists"), "");
}

function ensure(env: Record<string, string> = {}): string[] {
  const module = JSON.stringify(resolve("scripts/system-packages.ts"));
  const call = `import(${module}).then((packages) => packages.default())`;
  const run = spawnSync(process.execPath, ["-e", call], {
    cwd: machine,
    env: { PATH: join(machine, "bin"), ...env },
    encoding: "utf8",
  });
  expect(run).toMatchObject({ status: 0, stderr: "" });
  return run.stdout.split("\n").filter(Boolean);
}

function told(): string[] {
  const log = at("apt-get.log");
  return existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
}

test("root on Debian gets what is missing, and is told", () => {
  debian(0);
  expect(ensure()).toEqual([
    expect.stringContaining(`--no-install-recommends ${ALL}`),
    expect.stringContaining(`--no-install-recommends ${STEALTH}`),
    expect.stringContaining(`--no-install-recommends ${PAGES}`),
  ]);
  expect(told()).toEqual([ALL, STEALTH, PAGES].map((packages) => `${INSTALL} ${packages}`));
});

test("only what is missing is installed, the second time nothing", () => {
  debian(0);
  program("bwrap", "exit 0");
  program("fc-list", LIST_FONTS);
  writeFileSync(at("fonts-noto-core"), "");
  ensure();
  expect(told()).toEqual([
    `${INSTALL} chromium-headless-shell iproute2`,
    `${INSTALL} ${STEALTH}`,
    `${INSTALL} ${PAGES.replace("fontconfig ", "").replace("fonts-noto-core ", "")}`,
  ]);
  expect(ensure()).toEqual([]);
  expect(told()).toHaveLength(3);
});

test("a machine without package lists gets them first", () => {
  debian(0, false);
  ensure();
  expect(told()).toEqual([
    `${QUIET} update`,
    ...[ALL, STEALTH, PAGES].map((packages) => `${INSTALL} ${packages}`),
  ]);
});

test("an install that fails is tried once more with new lists, then the line is printed", () => {
  debian(0);
  writeFileSync(at("broken"), "");
  const said = ensure();
  expect(told()).toEqual(
    [ALL, STEALTH, PAGES].flatMap((packages) => [
      `${INSTALL} ${packages}`,
      `${QUIET} update`,
      `${INSTALL} ${packages}`,
    ]),
  );
  const byHand = "sudo apt-get install --no-install-recommends";
  expect(said).toContain(`browsers are off, to turn them on: ${byHand} ${ALL}`);
  expect(said).toContain(
    `recordVideo and fonts for many scripts are off, to turn them on: ${byHand} ${PAGES}`,
  );
});

test("a user with passwordless sudo gets it through sudo", () => {
  debian(1000);
  program("sudo", `[ "$1" = --non-interactive ] && shift && exec "$@"`);
  ensure();
  expect(told()).toEqual([ALL, STEALTH, PAGES].map((packages) => `${INSTALL} ${packages}`));
});

test.each([
  ["a user without sudo", 1000, undefined],
  ["a user whose sudo asks for a password", 1000, "exit 1"],
])("%s gets the one line and nothing else", (_name, uid, sudo) => {
  debian(uid);
  if (sudo) program("sudo", sudo);
  expect(ensure()).toEqual([
    `browsers are off, to turn them on: sudo apt-get install --no-install-recommends ${ALL}`,
    `stealth browsers are off, to turn them on: sudo apt-get install --no-install-recommends ${STEALTH}`,
    `recordVideo and fonts for many scripts are off, to turn them on: sudo apt-get install --no-install-recommends ${PAGES}`,
  ]);
  expect(told()).toEqual([]);
});

test("SVC_NO_INSTALL=1 never calls the package manager", () => {
  debian(0);
  program("apt-cache", `echo called >> "${at("apt-get.log")}"`);
  expect(ensure({ SVC_NO_INSTALL: "1" })).toHaveLength(3);
  expect(told()).toEqual([]);
});

test("SVC_CHROMIUM and SVC_CHROMIUM_STEALTH stand for the browsers' packages", () => {
  debian(0);
  ensure({ SVC_CHROMIUM: "/opt/chromium", SVC_CHROMIUM_STEALTH: "/opt/chromium" });
  expect(told()).toEqual(
    ["bubblewrap iproute2", "xvfb", PAGES].map((packages) => `${INSTALL} ${packages}`),
  );
});

test("a system without apt-get is told what to install", () => {
  program("id", "echo 0");
  expect(ensure()).toEqual([
    "browsers are off, to turn them on install: chromium-headless-shell, bubblewrap, iproute2",
    "stealth browsers are off, to turn them on install: chromium, xvfb",
    `recordVideo and fonts for many scripts are off, to turn them on install: ${PAGES.replaceAll(" ", ", ")}`,
  ]);
});
