import { once } from "node:events";
import { dirname } from "node:path";
import { writeSync } from "node:fs";
import { Socket, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { findBuild } from "../playwrights/builds.ts";
import { Handover } from "../playwrights/messages.ts";
import { controlOf } from "../playwrights/folders.ts";
import { Attachment } from "./attachment.ts";
import { closeNetwork, listeningAt } from "./network.ts";
import { hiding } from "./paths.ts";
import { insidesOf, playwrightOf } from "./packages.ts";
import { FFMPEG, closePrograms, recordWithSystem } from "./programs.ts";
import { refuseCdp, rewriteMessages, tellOwnHandlers } from "./wire.ts";

// Playwright, serving strangers: this process may do nothing else. Started by playwrights/processes.ts with the
// folder of its own, in the one that it shares with the pool, and with the build that it is to be.
const READY_FD = 4;
const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const [, , home = "", name = ""] = process.argv;
const root = dirname(home);
const build = findBuild(name);
if (!build) throw new Error(`no Playwright ${name}`);

// A promise that Playwright drops must not end everybody's sessions.
process.on("unhandledRejection", (error) => console.error(error));

const playwright = await playwrightOf(build);
closeNetwork(root);
closePrograms();
recordWithSystem(insidesOf(build));
tellOwnHandlers(playwright);
refuseCdp(playwright);
rewriteMessages(playwright, hiding([root, PROJECT, process.execPath, FFMPEG]));
const attachments = new Map<string, Attachment>();
process.on("message", (message, given) => {
  const handover = Handover.safeParse(message).data;
  // A socket that its client has closed meanwhile does not arrive.
  const socket = given instanceof Socket ? given : null;
  const attachment = handover && attachments.get(handover.key);
  if (attachment) void attachment.accept(handover, socket);
  // The pool counts a socket that nobody takes as dropped.
  else socket?.destroy();
});
process.on("disconnect", () => process.exit());

const own = { playwright, root, home, attachments };
const server = createServer((socket) => void new Attachment(own, socket));
await listeningAt(controlOf(home), () => once(server.listen(0), "listening"));
// Playwright makes the error of each call before the call, and reads the stack of some: a fifth of an evaluate. Clients
// put stacks of their own in the place of these; an exception that ends this process is told with its place.
Error.stackTraceLimit = 0;
writeSync(READY_FD, "ready");
