import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AgentRig } from "./rig.ts";

let rig: AgentRig;
let server: Server;
let origin: string;
const seen: string[] = [];

beforeAll(async () => {
  rig = await AgentRig.start();
  // A server that refuses everybody but tells who asked.
  server = createServer((request, response) => {
    seen.push(request.headers.authorization ?? "nobody");
    response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await sh("git init -q --bare -b main bare.git");
});
afterAll(async () => {
  server.close();
  await rig.close();
});

const host = () => rig.bulk.host;
const at = (name: string) => join(rig.home, name);
const author = { name: "Ann", email: "ann@example.com" };

async function sh(script: string): Promise<string> {
  const answer = await host().ask("commands.run", { cmd: "bash", args: ["-ec", script] });
  if (answer.exitCode !== 0) throw new Error(answer.stderr);
  return answer.stdout ?? "";
}

test("clone, commit, push, pull, branches and log work together", async () => {
  const one = { path: at("one") };
  const two = { path: at("two") };
  expect(await host().ask("git.clone", { url: at("bare.git"), ...one })).toEqual({
    path: one.path,
    branch: "main",
    commit: "",
  });
  await writeFile(at("one/a b.txt"), "1\n");
  expect(await host().ask("git.status", one)).toMatchObject({
    branch: "main",
    clean: false,
    files: [{ path: "a b.txt", index: "untracked", worktree: "untracked" }],
  });
  await host().ask("git.add", one);
  const message = "first\n\nwith a body";
  const { commit } = await host().ask("git.commit", { ...one, message, author });
  expect(await host().ask("git.push", one)).toEqual({ remote: "origin", branch: "main" });

  await host().ask("git.clone", { url: at("bare.git"), ...two, depth: 1 });
  await sh(`cd one; git mv 'a b.txt' c; echo 2 >> c; git add c; echo 3 >> c`);
  expect((await host().ask("git.status", one)).files).toEqual([
    { path: "c", index: "renamed", worktree: "modified", from: "a b.txt" },
  ]);
  await host().ask("git.add", { ...one, files: ["c"] });
  await host().ask("git.commit", { ...one, message: "second", author });
  expect(await host().ask("git.status", one)).toMatchObject({ ahead: 1, behind: 0 });
  await host().ask("git.push", one);
  expect(await host().ask("git.pull", two)).toMatchObject({ changed: true });
  expect(await host().ask("git.pull", two)).toMatchObject({ changed: false });

  const placed = await host().ask("git.checkout", { ...one, ref: "topic", create: true });
  expect(placed.branch).toBe("topic");
  expect(await host().ask("git.branches", one)).toEqual({
    current: "topic",
    branches: ["main", "topic"],
  });
  const { commits } = await host().ask("git.log", one);
  expect(commits).toMatchObject([{ message: "second" }, { commit, author, message }]);
  expect((await host().ask("git.checkout", { ...one, ref: commit })).branch).toBeNull();
});

test("what two have changed is GitConflict", async () => {
  for (const name of ["left", "right"]) {
    await host().ask("git.clone", { url: at("bare.git"), path: at(name) });
    await sh(`cd ${name}; echo ${name} > same; git add same`);
    await host().ask("git.commit", { path: at(name), message: name, author });
  }
  await host().ask("git.push", { path: at("left") });
  for (const method of ["git.push", "git.pull"] as const)
    await expect(host().ask(method, { path: at("right") })).rejects.toMatchObject({
      data: { code: "GitConflict" },
    });
  expect((await host().ask("git.status", { path: at("right") })).files).toMatchObject([
    { path: "same", index: "added", worktree: "added" },
  ]);
});

test("what is no repository is GitFailed, with what git says", async () => {
  const refused = { message: /not a git repository/, data: { code: "GitFailed" } };
  await expect(host().ask("git.status", { path: rig.home })).rejects.toMatchObject({
    data: refused.data,
    message: expect.stringMatching(refused.message),
  });
});

test("a name that git would take for an option is refused", async () => {
  for (const ref of ["--output=/tmp/x", "-b"])
    await expect(host().ask("git.checkout", { path: at("one"), ref })).rejects.toMatchObject({
      code: -32_602,
      data: { field: "ref" },
    });
});

test("credentials reach the server, and nothing keeps them", async () => {
  const credentials = { username: "us/er", password: "p@ss word" };
  const basic = `Basic ${Buffer.from("us/er:p@ss word").toString("base64")}`;
  const url = `${origin}/x.git`;
  const clone = host().ask("git.clone", { url, path: at("private"), credentials });
  await expect(clone).rejects.toMatchObject({
    data: { code: "GitAuthFailed" },
    message: expect.not.stringContaining("ss"),
  });
  expect(seen).toContain(basic);
  await sh(`cd one; git remote add far ${url}`);
  const push = host().ask("git.push", {
    path: at("one"),
    remote: "far",
    branch: "main",
    credentials,
  });
  await expect(push).rejects.toMatchObject({ data: { code: "GitAuthFailed" } });
  expect(await readFile(at("one/.git/config"), "utf8")).not.toContain("ss word");
  expect(await sh("cat ~/.gitconfig ~/.git-credentials 2>/dev/null || true")).toBe("");
});

test("without credentials nobody is asked for them", async () => {
  const clone = host().ask("git.clone", { url: `${origin}/y.git`, path: at("nobody") });
  await expect(clone).rejects.toMatchObject({ data: { code: "GitAuthFailed" } });
});
