import { spawn } from "node:child_process";
import { Socket as DatagramSocket } from "node:dgram";
import { Server } from "node:net";

/** The port on which a browser finds its forwarder, on every address of loopback in a network of its own. */
export const PROXY_PORT = 3128;

/** Where programs look for names on a machine that configures none (resolv.conf(5)). */
const NAMES = { address: "127.0.0.1", port: 53 };

const OPEN_MS = 30_000;
// Every address counts as the browser's own loopback here, so that each may stand for another proxy.
const LISTEN = `const door = require("node:net").createServer();
const names = require("node:dgram").createSocket("udp4");
door.listen(${PROXY_PORT}, "0.0.0.0", () => process.send("door", door));
names.bind(${NAMES.port}, "${NAMES.address}", () => process.send("names", names));`;

/** Sockets of this process in the network of a browser. */
export interface Door {
  /** Takes the browser's connections. */
  server: Server;
  /** Takes its questions for names. */
  names: DatagramSocket;
}

/**
 * The sockets of this process in the network of the process `pid`. A socket belongs to the network in which it was made,
 * whoever holds it: a short-lived helper makes the sockets there and hands them over. What the browser sends comes straight
 * to this process, with no relay between.
 */
export async function openDoor(nsenter: string, pid: number): Promise<Door> {
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
  const door = Promise.withResolvers<Door>();
  helper.once("error", door.reject);
  helper.once("close", (code, signal) => {
    // A helper that is killed says nothing.
    const why = words.trim() || `its helper ended with ${signal ?? code}`;
    door.reject(new Error(`no way out of the browser: ${why}`));
  });
  const made: Partial<Door> = {};
  helper.on("message", (_, socket) => {
    if (socket instanceof Server) made.server = socket;
    if (socket instanceof DatagramSocket) made.names = socket;
    const { server, names } = made;
    if (server && names) door.resolve({ server, names });
  });
  try {
    return await door.promise;
  } catch (error) {
    made.server?.close();
    made.names?.close();
    throw error;
  } finally {
    // A helper that lives on would take connections itself.
    helper.kill("SIGKILL");
  }
}
