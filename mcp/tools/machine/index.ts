import type { Tool } from "../../tool.ts";
import { click } from "./click.ts";
import { connect } from "./connect.ts";
import { desktopCreate } from "./desktop-create.ts";
import { drag } from "./drag.ts";
import { exec } from "./exec.ts";
import { getPreviewUrl } from "./get-preview-url.ts";
import { key } from "./key.ts";
import { kill } from "./kill.ts";
import { list } from "./list.ts";
import { listFiles } from "./list-files.ts";
import { mouseDown } from "./mouse-down.ts";
import { mouseMove } from "./mouse-move.ts";
import { mouseUp } from "./mouse-up.ts";
import { openApp } from "./open-app.ts";
import { readFile } from "./read-file.ts";
import { runCode } from "./run-code.ts";
import { runCommandBg } from "./run-command-bg.ts";
import { sandboxCreate } from "./sandbox-create.ts";
import { screenshot } from "./screenshot.ts";
import { type } from "./type.ts";
import { writeFile } from "./write-file.ts";

/** Tools of sandboxes and desktops. */
export const machineTools: readonly Tool[] = [
  sandboxCreate,
  desktopCreate,
  exec,
  runCommandBg,
  runCode,
  readFile,
  writeFile,
  listFiles,
  getPreviewUrl,
  screenshot,
  click,
  type,
  key,
  openApp,
  mouseMove,
  mouseDown,
  mouseUp,
  drag,
  list,
  connect,
  kill,
];
