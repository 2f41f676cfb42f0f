import { LISTED } from "@svc/contract/control-channel/computer-methods.ts";
import { expect, test } from "vitest";
import { parsePorts, parseProcesses } from "../../../vm-host/desktop/programs.ts";

test("processes have a name of their own beside their command", () => {
  const said = [
    "      1 init",
    "     77 Web Content",
    "",
    "      1       0  0.0  1024 /bin/init",
    "     77       1 12.5 20480 chromium --type=renderer  two  spaces",
  ].join("\n");
  expect(parseProcesses(said)).toEqual({
    truncated: false,
    processes: [
      {
        pid: 1,
        parentPid: 0,
        name: "init",
        command: "/bin/init",
        cpuPercent: 0,
        memoryBytes: 1024 * 1024,
      },
      {
        pid: 77,
        parentPid: 1,
        name: "Web Content",
        command: "chromium --type=renderer  two  spaces",
        cpuPercent: 12.5,
        memoryBytes: 20 * 1024 * 1024,
      },
    ],
  });
});

test("ports have their address and the program that listens", () => {
  const said = [
    'LISTEN 0      5           127.0.0.1:5901       0.0.0.0:*    users:(("Xtigervnc",pid=9,fd=7))',
    'LISTEN 0      128              [::]:80            [::]:*    users:(("a b",pid=3,fd=4),("c",pid=5,fd=4))',
    "LISTEN 0      64                  *:2049             *:*                                     ",
  ].join("\n");
  expect(parsePorts(said)).toEqual({
    truncated: false,
    ports: [
      { port: 5901, address: "127.0.0.1", pid: 9, process: "Xtigervnc" },
      { port: 80, address: "::", pid: 3, process: "a b" },
      { port: 2049, address: "*", pid: 0, process: "" },
    ],
  });
});

test.each([
  ["nothing", ""],
  ["no text", "\u0000\u{10ffff}".repeat(100_000)],
  ["one line without an end", `1 1 1 1 ${" ".repeat(5_000_000)}`],
  ["lines without number", "\n".repeat(5_000_000)],
  ["numbers without end", `${"9".repeat(1_000_000)} ${"9".repeat(1_000_000)}`],
])("a desktop that says %s has neither", (_name, said) => {
  expect(parsePorts(said).ports).toEqual([]);
  expect(parseProcesses(said).processes).toEqual([]);
});

test("what is more than is listed is told as that, and no text is long", () => {
  const many = (line: string): string => `${line}\n`.repeat(5_000);
  const long = "\u0007x".repeat(2_000);
  const { processes, ...listed } = parseProcesses(`\n${many(`1 1 0.0 1 ${long}`)}`);
  expect(listed.truncated).toBe(true);
  expect(processes.length).toBe(LISTED.processes);
  expect(processes[0]?.command).toBe(" x".repeat(LISTED.characters / 2));
  const found = parsePorts(many("LISTEN 0 5 *:1 *:*"));
  expect(found).toMatchObject({ truncated: true });
  expect(found.ports.length).toBe(LISTED.ports);
});
