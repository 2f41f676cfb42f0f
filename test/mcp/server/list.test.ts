// The list of tools as a client gets it: what every conversation pays for, and what clients know to read.
import { listOf } from "@svc/mcp/list.ts";
import { TOOLS, toolsOf, UnknownToolset } from "@svc/mcp/tools/index.ts";
import { expect, test } from "vitest";

const BROWSER = [
  "create",
  "navigate",
  "read_page",
  "screenshot",
  "click",
  "type",
  "key",
  "evaluate",
  "replay_url",
  "login",
  "await_login",
  "autologin_status",
  "autologin_site",
  "save_profile",
  "profiles",
  "close",
].map((name) => `svc_browser_${name}`);
const MACHINE = [
  "sandbox_create",
  "desktop_create",
  "exec",
  "run_command_bg",
  "run_code",
  "read_file",
  "write_file",
  "list_files",
  "get_preview_url",
  "screenshot",
  "click",
  "type",
  "key",
  "open_app",
  "mouse_move",
  "mouse_down",
  "mouse_up",
  "drag",
  "list",
  "connect",
  "kill",
].map((name) => `svc_${name}`);

const list = listOf(TOOLS);
const names = TOOLS.map(({ name }) => name as string);

test("the tools are the 16 of browsers and the 21 of machines that the document names", () => {
  expect([BROWSER.length, MACHINE.length]).toEqual([16, 21]);
  expect(names.toSorted()).toEqual([...BROWSER, ...MACHINE].toSorted());
  expect(toolsOf("browser").map(({ name }) => name)).toEqual(
    names.filter((name) => BROWSER.includes(name)),
  );
  expect(toolsOf("machine").map(({ name }) => name)).toEqual(
    names.filter((name) => MACHINE.includes(name)),
  );
});

test("a toolset that does not exist is refused with the names of those that do", () => {
  expect(() => toolsOf("browser,fridge")).toThrow(UnknownToolset);
  expect(() => toolsOf("fridge")).toThrow("toolsets: fridge is none; there are browser, machine");
  expect(toolsOf("browser, machine")).toHaveLength(TOOLS.length);
  for (const none of ["", undefined, null, " "]) expect(toolsOf(none)).toBe(TOOLS);
});

/** Characters of a token, by the rule of thumb. */
const TOKEN = 4;

test("the whole list costs a conversation no more than 7,500 tokens", () => {
  expect(JSON.stringify(list).length / TOKEN).toBeLessThanOrEqual(7_500);
});

test.each(list)("$name is listed with what every client can read", (tool) => {
  // Gemini CLI cuts longer ones.
  expect(tool.name.length).toBeLessThanOrEqual(63);
  expect(tool.description).toMatch(/\.$/);
  const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
  expect(Object.keys(tool.annotations ?? {}).toSorted()).toEqual(hints.toSorted());
  expect(JSON.stringify(tool)).not.toMatch(/"(anyOf|oneOf|allOf|\$ref|\$defs)"/);
  expect(tool.inputSchema).toMatchObject({ type: "object", additionalProperties: false });
  // A client may not take a further field of an answer for a fault.
  expect(JSON.stringify(tool.outputSchema ?? {})).not.toContain('"additionalProperties":false');
});
