import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentRig } from "./rig.ts";

const STORM = 3_000;
const STORM_MS = 60_000;
/** renameat2 with RENAME_EXCHANGE: two names change places. */
const EXCHANGE = `syscall(316, -100, $ARGV[0], -100, $ARGV[1], 2) == 0 or die $!`;

let rig: AgentRig;
beforeAll(async () => {
  rig = await AgentRig.start();
});
afterAll(() => rig.close());

/** A watch of a folder of its own, and what it has told. */
class Watch {
  readonly root: string;
  /** `type path`, or `rename from > path`; without the root. */
  readonly told: string[] = [];
  readonly result: Promise<unknown>;
  readonly #id: number;
  readonly #stop = new AbortController();
  #at = 0;
  #probes = 0;

  constructor(root: string, { path = root, recursive = true } = {}) {
    this.root = root;
    const { id, result } = rig.bulk.host.call(
      "files.watch",
      { path, recursive },
      { signal: this.#stop.signal },
    );
    this.#id = id;
    this.result = result.then(
      () => null,
      (error: unknown) => error,
    );
  }

  /** Resolves when everything that happened before has been told, also below `folder`. */
  async caughtUp(folder = "."): Promise<this> {
    this.#probes += 1;
    await expect
      .poll(
        () => {
          this.#hear();
          const name = `probe-${this.#probes}`;
          if (this.told.includes(`create ${join(folder, name)}`)) return true;
          this.#probes += 1;
          writeFileSync(join(this.root, folder, `probe-${this.#probes}`), "");
          return false;
        },
        { timeout: STORM_MS },
      )
      .toBe(true);
    return this;
  }

  /** What was told since the last time, probes left out. */
  async news(folder = "."): Promise<string[]> {
    const from = this.told.length;
    await this.caughtUp(folder);
    return this.told.slice(from).filter((line) => !line.includes("probe-"));
  }

  end(): Promise<unknown> {
    this.#stop.abort();
    return this.result;
  }

  #hear(): void {
    const short = (path: unknown): string => String(path).slice(this.root.length + 1);
    for (const { method, params } of rig.bulk.heard.slice(this.#at)) {
      this.#at += 1;
      if (method !== "files.event" || params["id"] !== this.#id) continue;
      const from = "from" in params ? `${short(params["from"])} > ` : "";
      this.told.push(`${String(params["type"])} ${from}${short(params["path"])}`);
    }
  }
}

const newFolder = (): string => mkdtempSync(join(rig.folder, "watched-"));

function put(root: string, ...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), path);
  }
}

/** A watch that stands, of a folder with these files; also below `deep`. */
async function watched(files: string[], deep = "."): Promise<Watch> {
  const root = newFolder();
  put(root, ...files);
  return (await new Watch(root).caughtUp()).caughtUp(deep);
}

const move = (root: string, from: string, to: string): void =>
  renameSync(join(root, from), join(root, to));

describe("a move", () => {
  test("inside the tree is one event, in a folder, across folders and over another file", async () => {
    const watch = await watched(["a", "over", "one/x", "two/y"], "two");
    await watch.caughtUp("one");
    move(watch.root, "a", "b");
    move(watch.root, "one/x", "two/x");
    move(watch.root, "b", "over");
    expect(await watch.news()).toEqual(["rename a > b", "rename one/x > two/x", "rename b > over"]);
    await watch.end();
  });

  test("asked of the agent is one event, too", async () => {
    const watch = await watched(["a"]);
    await rig.bulk.host.ask("files.move", {
      from: join(watch.root, "a"),
      to: join(watch.root, "b"),
    });
    expect(await watch.news()).toEqual(["rename a > b"]);
    await watch.end();
  });

  test("out of the tree is a removal, into it a creation, each told in its order", async () => {
    const watch = await watched(["a", "b"]);
    const outside = newFolder();
    put(outside, "in");
    renameSync(join(watch.root, "a"), join(outside, "a"));
    renameSync(join(outside, "in"), join(watch.root, "in"));
    move(watch.root, "b", "c");
    expect(await watch.news()).toEqual(["remove a", "create in", "rename b > c"]);
    await watch.end();
  });

  test("of a folder is one event; what happens in it afterwards has its new path", async () => {
    const watch = await watched(["a/deep/er/x"], "a/deep/er");
    move(watch.root, "a", "b");
    writeFileSync(join(watch.root, "b/deep/er/x"), "new");
    move(watch.root, "b/deep", "deep");
    writeFileSync(join(watch.root, "deep/er/y"), "");
    const news = await watch.news("deep/er");
    expect(news.filter((line) => !line.startsWith("write"))).toEqual([
      "rename a > b",
      "rename b/deep > deep",
      "create deep/er/y",
    ]);
    expect(news).toContain("write b/deep/er/x");
    await watch.end();
  });

  test("of a folder out of the tree ends its watch, and into it begins one", async () => {
    const watch = await watched(["a/deep/x"], "a/deep");
    const outside = newFolder();
    renameSync(join(watch.root, "a"), join(outside, "a"));
    expect(await watch.news()).toEqual(["remove a"]);
    writeFileSync(join(outside, "a/deep/y"), "");
    expect(await watch.news()).toEqual([]);
    renameSync(join(outside, "a"), join(watch.root, "back"));
    const news = await watch.news("back/deep");
    expect(news[0]).toBe("create back");
    expect(news).toContain("create back/deep/y");
    await watch.end();
  });

  test.skipIf(process.arch !== "x64")(
    "in which two folders change places leaves both watched",
    async () => {
      const watch = await watched(["a/x/1", "b/y/1"], "a/x");
      await watch.caughtUp("b/y");
      execFileSync("perl", ["-e", EXCHANGE, join(watch.root, "a"), join(watch.root, "b")]);
      const news = await watch.news();
      expect(news.filter((line) => line.startsWith("rename"))).toEqual([
        "rename a > b",
        "rename b > a",
      ]);
      await watch.caughtUp("a/y");
      await watch.caughtUp("b/x");
      await watch.end();
    },
  );

  test("is one event where only one folder is watched, and not below", async () => {
    const root = newFolder();
    put(root, "a", "sub/x");
    const watch = await new Watch(root, { recursive: false }).caughtUp();
    move(root, "a", "b");
    move(root, "sub/x", "sub/y");
    move(root, "sub/y", "out");
    expect(await watch.news()).toEqual(["rename a > b", "create out"]);
    await watch.end();
  });
});

test("a watch of one file tells of that file alone, and goes on when it is replaced", async () => {
  const root = newFolder();
  put(root, "file");
  const path = join(root, "file");
  const watch = new Watch(root, { path });
  await expect
    .poll(async () => {
      writeFileSync(path, "again");
      await rig.bulk.host.ask("rpc.ping", {});
      return rig.bulk.heard.some(({ params }) => params["path"] === path);
    })
    .toBe(true);
  put(root, "other", ".swap");
  move(root, ".swap", "file");
  move(root, "file", "gone");
  const last = () => rig.bulk.heard.filter(({ params }) => params["path"] === path);
  await expect.poll(() => last().at(-1)?.params["type"]).toBe("remove");
  expect(last().map(({ params }) => params["type"])).toEqual(
    expect.arrayContaining(["write", "create", "remove"]),
  );
  expect(rig.bulk.heard).not.toContainEqual(
    expect.objectContaining({ params: expect.objectContaining({ path: join(root, "other") }) }),
  );
  await watch.end();
});

test(
  "a storm of moves is told whole, or with an overflow, and the tree is watched after it",
  async () => {
    const watch = await watched(["one/x", "two/x"], "two");
    await watch.caughtUp("one");
    const storm = (from: string, to: string): Promise<unknown> =>
      promisify(execFile)("perl", [
        "-e",
        `my ($root, $from, $to) = @ARGV; chdir $root or die;
       for my $n (1 .. ${STORM}) { open(my $f, '>', "$from/$n") or die; close $f; rename("$from/$n", "$to/$n") or die; }
       mkdir "$from/late" or die; rename("$from/late", "$to/late-$from") or die;`,
        watch.root,
        from,
        to,
      ]);
    await Promise.all([storm("one", "two"), storm("two", "one")]);
    const news = await watch.news("two/late-one");
    await watch.caughtUp("one/late-two");
    const isWhole = !news.some((line) => line.startsWith("overflow"));
    const renamed = news.filter((line) => line.startsWith("rename"));
    expect(new Set(renamed).size).toBe(renamed.length);
    expect(isWhole ? renamed.length : 2 * STORM + 2).toBe(2 * STORM + 2);
    expect(news.filter((line) => line.startsWith("remove"))).toEqual([]);
    await watch.end();
  },
  2 * STORM_MS,
);

test("a watch fails when the program that watches is ended, and the next one stands", async () => {
  const watch = await watched(["a"]);
  const children = readFileSync(`/proc/${rig.pid}/task/${rig.pid}/children`, "utf8").split(" ");
  const isIt = (pid: string) =>
    pid !== "" && readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("svc-watch");
  process.kill(Number(children.find(isIt)), "SIGKILL");
  expect(await watch.result).toMatchObject({ data: { code: "Busy", retryable: true } });
  const again = await watched(["a"]);
  move(again.root, "a", "b");
  expect(await again.news()).toEqual(["rename a > b"]);
  await again.end();
});
