import { spawn } from "node:child_process";
import { Server } from "node:net";

/** The port on which a browser finds its forwarder, on every address of loopback in a network of its own. */
export const PROXY_PORT = 3128;

const OPEN_MS = 30_000;
// Every address counts as the browser's own loopback here, so that each may stand for another proxy.
const LISTEN = `const door = require("node:net").createServer();
door.listen(${PROXY_PORT}, "0.0.0.0", () => process.send("door", door));`;

/**
 * A server of this process that listens in the network of the process `pid`. A socket belongs to the network in which it
 * was made, whoever holds it: a short-lived helper makes the socket there and hands it over. Connections of the
 * browser come straight to this process, with no relay between.
 */
export async function openDoor(nsenter: string, pid: number): Promise<Server> {
  const isRoot = process.getuid?.() === 0;
  const where = isRoot ? ["--net"] : ["--user", "--preserve-credentials", "--net"];
  const command = ["--target", String(pid), ...where, "--", process.execPath, "-e", LISTEN];
  const helper = spawn(nsenter, command, {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    env: { PATH: "/usr/bin:/bin" },
    timeout: OPEN_MS,
    killSignal: "SIGKILL",
  });
  let words = "";
  helper.stderr?.on("data", (text) => (words = `${words}${String(text)}`.slice(-1_000)));
  const door = Promise.withResolvers<Server>();
  helper.once("error", door.reject);
  helper.once("close", () => door.reject(new Error(`no way out of the browser: ${words.trim()}`)));
  helper.once("message", (_, server) => {
    if (server instanceof Server) door.resolve(server);
  });
  try {
    return await door.promise;
  } finally {
    // A helper that lives on would take connections itself.
    helper.kill("SIGKILL");
  }
}
