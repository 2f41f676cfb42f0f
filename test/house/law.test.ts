// Guards the law of imports (rooms.ts, scripts/lint/law.ts): every forbidden pair of rooms and of folders is refused,
// every allowed pair is not, however the import is written.
import { globSync } from "node:fs";
import { dirname, relative } from "node:path/posix";
import { beforeAll, describe, expect, test } from "vitest";
import { FOLDERS, ROOMS as LAW } from "../../rooms.ts";
import { ProbeTree } from "./probe-tree.ts";

// Written out a second time, from docs/ARCHITECTURE.md: a slip in rooms.ts must not pass as its own proof.
const MAY: Record<string, string[]> = {
  contract: [],
  "control-plane": ["contract"],
  "durable-objects": ["contract", "control-plane"],
  src: ["contract", "control-plane", "durable-objects", "sdk", "mcp"],
  sdk: ["contract"],
  mcp: ["contract", "sdk"],
  "host-kit": ["contract"],
  "browser-pool": ["contract", "host-kit"],
  "vm-host": ["contract", "host-kit"],
  "guest-agent": ["contract"],
  console: ["contract", "sdk"],
  cli: ["contract", "sdk", "mcp"],
};
const ROOMS = Object.keys(MAY);
const BY_PATH = ["src", "durable-objects", "control-plane"];
const NODE = ["host-kit", "browser-pool", "vm-host", "guest-agent", "cli"];
const CLOUDFLARE = ["src", "durable-objects"];
const NO_TOKENS = ["sdk", "mcp", "console", "cli", "guest-agent"];

interface Probe {
  file: string;
  specifier: string;
  ok: boolean;
}

function pairs(): Probe[] {
  return ROOMS.flatMap((room) =>
    ROOMS.filter((other) => other !== room).flatMap((other) => {
      const may = MAY[room]?.includes(other) ?? false;
      const byPath = BY_PATH.includes(other);
      const named = `@svc/${other}/thing.ts`;
      return [
        { file: `${room}/by-name.ts`, specifier: named, ok: may && !byPath },
        { file: `${room}/deep/er/by-name.ts`, specifier: named, ok: may && !byPath },
        { file: `${room}/by-path.ts`, specifier: `../${other}/thing.ts`, ok: may && byPath },
        { file: `${room}/by-path.ts`, specifier: `./x/../../${other}/a.ts`, ok: may && byPath },
        {
          file: `${room}/deep/er/by-path.ts`,
          specifier: `../../../${other}/thing.ts`,
          ok: may && byPath,
        },
      ];
    }),
  );
}

function everyRoom(name: string, specifier: string, ok: (room: string) => boolean): Probe[] {
  return ROOMS.map((room) => ({ file: `${room}/${name}.ts`, specifier, ok: ok(room) }));
}

/** Rooms whose law does not reach into them: their files import each other as they like. */
const hasNoFolders = (room: string): boolean => !Object.hasOwn(FOLDERS, room);

function otherBans(): Probe[] {
  return [
    ...everyRoom("builtin", "node:fs", (room) => NODE.includes(room)),
    ...everyRoom("builtin", "fs/promises", (room) => NODE.includes(room)),
    ...everyRoom("cloudflare", "cloudflare:workers", (room) => CLOUDFLARE.includes(room)),
    ...everyRoom("hono", "hono", (room) => room === "src"),
    ...everyRoom("hono", "hono/body-limit", (room) => room === "src"),
    ...everyRoom("hono", "@hono/zod-validator", (room) => room === "src"),
    ...everyRoom("package", "some-package", (room) => !["contract", "sdk"].includes(room)),
    ...everyRoom("zod", "zod", (room) => room !== "sdk"),
    ...everyRoom("in-test", "../test/support/fake-pool.ts", () => false),
    ...everyRoom("in-test", "@svc/test/support/fakes/pool.ts", () => false),
    ...everyRoom("tooling", "../scripts/gateway.ts", () => false),
    ...everyRoom("tooling", "../bench/create.ts", () => false),
    ...everyRoom("unknown", "@svc/nowhere/thing.ts", () => false),
    ...everyRoom("outside", "../../elsewhere.ts", () => false),
    ...everyRoom("deep/inside", "./beside.ts", () => true),
    ...everyRoom("deep/er/inside", "../beside.ts", () => true),
    ...everyRoom("inside", "./beside.ts", hasNoFolders),
    ...everyRoom("deep/inside", "../beside.ts", hasNoFolders),
    ...ROOMS.map((room) => ({
      file: `${room}/own-name.ts`,
      specifier: `@svc/${room}/thing.ts`,
      ok: false,
    })),
    // A folder inside a room may carry another room's name.
    ...everyRoom("routes/namesake", "../vm-host/thing.ts", hasNoFolders),
  ];
}

function tokens(): Probe[] {
  return Object.entries(MAY)
    .filter(([, may]) => may.includes("contract"))
    .flatMap(([room]) =>
      ["@svc/contract/tokens.ts", "@svc/contract/tokens/verify.ts"].map((specifier) => ({
        file: `${room}/tokens.ts`,
        specifier,
        ok: !NO_TOKENS.includes(room),
      })),
    );
}

const ELSEWHERE: Probe[] = [
  { file: "mcp/stdio.ts", specifier: "node:process", ok: true },
  { file: "mcp/stdio.ts", specifier: "@svc/vm-host/thing.ts", ok: false },
  { file: "mcp/stdio.ts", specifier: "hono", ok: false },
  { file: "mcp/tools/stdio.ts", specifier: "node:process", ok: false },
  { file: "scripts/a.ts", specifier: "../src/index.ts", ok: true },
  { file: "scripts/a.ts", specifier: "../test/support/needs.ts", ok: false },
  { file: "bench/a.ts", specifier: "@svc/sdk/index.ts", ok: true },
  { file: "bench/a.ts", specifier: "../test/support/needs.ts", ok: false },
  { file: "bench/deep/a.ts", specifier: "@svc/test/support/process/needs.ts", ok: false },
  { file: "test/gateway/a.test.ts", specifier: "../support/process/needs.ts", ok: true },
  { file: "test/gateway/a.test.ts", specifier: "../../src/index.ts", ok: true },
  { file: "test/gateway/a.test.ts", specifier: "node:fs", ok: true },
];

/** The path of a file in a place of a room: a folder (`a/`) or a file at the root (`a.ts`). */
const inside = (room: string, place: string, name: string): string =>
  place.endsWith("/") ? `${room}/${place}${name}.ts` : `${room}/${place}`;

/** Every pair of two places of a room that has a table of folders, in both directions. */
function folderPairs(room: string, folders: Readonly<Record<string, readonly string[]>>): Probe[] {
  const places = Object.keys(folders);
  return places.flatMap((from) =>
    places.map((to) => {
      const file = inside(room, from, "deep/er/probe");
      const target = inside(room, to, "deep/er/target");
      const specifier = relative(dirname(file), target);
      const ok = from === to || (folders[from]?.includes(to) ?? false);
      return { file, specifier: specifier.startsWith(".") ? specifier : `./${specifier}`, ok };
    }),
  );
}

/** A folder that the table does not know imports nothing of its room, and nobody imports it. */
function newFolder(room: string, places: string[]): Probe[] {
  const into = places.flatMap((place) => [
    { file: `${room}/new/a.ts`, specifier: `..${inside("", place, "b")}`, ok: false },
    {
      file: inside(room, place, "a"),
      specifier: place.endsWith("/") ? "../new/a.ts" : "./new/a.ts",
      ok: false,
    },
  ]);
  return [
    { file: `${room}/new/a.ts`, specifier: "./b.ts", ok: true },
    { file: `${room}/brand-new.ts`, specifier: "./new/a.ts", ok: false },
    ...into,
  ];
}

const TABLES = Object.entries(FOLDERS);

/** A statement that imports, in the line of that number. */
type Statement = (specifier: string, line: number) => string;

const STATEMENTS: Record<string, Statement> = {
  "a static import": (name) => `import ${JSON.stringify(name)};`,
  "a type import": (name) => `import type {} from ${JSON.stringify(name)};`,
  "an import of a type by its name": (name, line) =>
    `import { type T${line} } from ${JSON.stringify(name)};`,
  "a re-export": (name) => `export * from ${JSON.stringify(name)};`,
  "a re-export of a type": (name, line) => `export type { U${line} } from ${JSON.stringify(name)};`,
  "a dynamic import": (name) => `void import(${JSON.stringify(name)});`,
  "an import inside a type": (name) => `({}) as import(${JSON.stringify(name)}).T;`,
};

/** Each probe in each form of import, a line each: what the linter makes of all of them in one run. */
async function judged(probes: Probe[]): Promise<(Probe & { form: string })[]> {
  const forms = Object.entries(STATEMENTS);
  const lines = [...Map.groupBy(probes, ({ file }) => file)].flatMap(([file, list]) =>
    list
      .flatMap((probe) => forms.map(([form, statement]) => ({ probe, form, statement })))
      .map((one, at) => ({ ...one, file, line: at + 1 })),
  );
  using tree = new ProbeTree();
  for (const [file, list] of Map.groupBy(lines, (one) => one.file)) {
    const text = list.map(({ probe, statement, line }) => statement(probe.specifier, line));
    tree.write(file, text.join("\n"));
  }
  const found = (await tree.lint()).filter(({ rule }) => rule === "law(rooms)");
  const refused = new Set(found.map(({ file, line }) => `${file}:${line}`));
  return lines.map(({ probe, form, file, line }) => {
    return { ...probe, form, ok: !refused.has(`${file}:${line}`) };
  });
}

const LAWS: [string, Probe[]][] = [
  ["rooms", [...pairs(), ...otherBans(), ...tokens(), ...ELSEWHERE]],
  ...TABLES.map(([room, folders]): [string, Probe[]] => [
    `the folders of ${room}`,
    [...folderPairs(room, folders), ...newFolder(room, Object.keys(folders))],
  ]),
];

describe.each(LAWS)("the law of %s", (_name, probes) => {
  const wanted = new Map(probes.map((probe) => [`${probe.file} ${probe.specifier}`, probe.ok]));
  let all: Awaited<ReturnType<typeof judged>> = [];
  beforeAll(async () => {
    all = await judged(probes);
  });

  test.each(Object.keys(STATEMENTS))(
    "judges every pair and every other ban right in %s",
    (form) => {
      const ofForm = all.filter((one) => one.form === form);
      expect(ofForm).toHaveLength(probes.length);
      const isWrong = ({ file, specifier, ok }: Probe) => wanted.get(`${file} ${specifier}`) !== ok;
      expect(ofForm.filter(isWrong)).toEqual([]);
    },
  );
});

test.each(TABLES)(
  "the table of %s has a row for each folder and each file at the room's root",
  (room, folders) => {
    const found = globSync(`${room}/**/*.ts`).map((path) => {
      const [, first = "", deeper] = path.split("/");
      return deeper === undefined ? first : `${first}/`;
    });
    expect(Object.keys(folders).toSorted()).toEqual([...new Set(found)].toSorted());
  },
);

test.each<[string, Readonly<Record<string, readonly string[]>>]>([["rooms", LAW], ...TABLES])(
  "the table of %s has no circle: a row names rows above it only",
  (_name, table) => {
    const names = Object.keys(table);
    const wrong = names.flatMap((name, at) =>
      (table[name] ?? []).filter((other) => !names.slice(0, at).includes(other)),
    );
    expect(wrong).toEqual([]);
  },
);

test("an import() loads packages only; in cli it may load another room", async () => {
  const lines = [
    'void import("./b.ts");',
    'void import("../src/app.ts");',
    'void import("@svc/contract/limits.ts");',
    'void import("playwright-core");',
  ];
  using tree = new ProbeTree();
  for (const file of ["src/a.ts", "scripts/a.ts", "cli/a.ts"]) tree.write(file, lines.join("\n"));
  tree.write("test/a.ts", lines.join("\n"));
  const found = (await tree.lint()).filter(({ rule }) => rule === "law(static-paths)");
  expect(found.map(({ file, line }) => `${file}:${line}`).toSorted()).toEqual([
    "cli/a.ts:1",
    "cli/a.ts:2",
    ...["scripts/a.ts", "src/a.ts"].flatMap((file) => [1, 2, 3].map((line) => `${file}:${line}`)),
  ]);
});

test("zod is imported as a namespace only", async () => {
  const lines = [
    'import * as z from "zod";',
    'import type * as y from "zod";',
    'import { z as x } from "zod";',
    'import w from "zod";',
    'import type { z as v } from "zod";',
    'export { z } from "zod";',
    'import * as mini from "zod/mini";',
  ];
  using tree = new ProbeTree();
  tree.write("contract/a.ts", lines.join("\n"));
  const found = (await tree.lint()).filter(({ rule }) => rule === "law(zod-namespace)");
  expect(found.map(({ line }) => line)).toEqual([3, 4, 5, 6, 7]);
});
