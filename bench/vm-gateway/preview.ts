import { once } from "node:events";
import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { WebSocket } from "ws";
import type { Bed } from "./bed.ts";

/** A server inside on port 8000: an answer to a GET, and a WebSocket that gives back its short messages. */
export const GUEST_SERVER = `
import base64, hashlib, socketserver
MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while True:
            line = self.rfile.readline()
            if not line: return
            key = None
            while True:
                header = self.rfile.readline().strip()
                if not header: break
                name, _, value = header.partition(b":")
                if name.strip().lower() == b"sec-websocket-key": key = value.strip()
            if key: return self.socket(key)
            self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
    def socket(self, key):
        accept = base64.b64encode(hashlib.sha1(key + MAGIC).digest())
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: " + accept + b"\\r\\n\\r\\n")
        while True:
            head = self.rfile.read(2)
            if len(head) < 2: return
            size, mask = head[1] & 127, self.rfile.read(4)
            text = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(size)))
            self.wfile.write(bytes([head[0], size]) + text)
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server(("127.0.0.1", 8000), Handler).serve_forever()
`;

interface Minted {
  url: string;
  token: string;
}

async function mint(bed: Bed, id: string): Promise<Minted> {
  const answer = await bed.customer("GET", `/sandboxes/${id}/ports/8000`);
  return JSON.parse(Buffer.from(answer).toString()) as Minted;
}

/** A GET of the port by its preview, over one kept connection. Node itself finds no *.localhost. */
export async function previewGet(bed: Bed, id: string): Promise<() => Promise<void>> {
  const { url, token } = await mint(bed, id);
  const { hostname, port } = new URL(bed.gateway.url);
  const headers = { host: new URL(url).host, "x-svc-preview-token": token };
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return () =>
    new Promise((resolve, reject) => {
      const asked = request({ agent, hostname, port, path: "/", headers }, (answer) => {
        answer.resume();
        answer.once("end", () => {
          if (answer.statusCode === 200) resolve();
          else reject(new Error(`the preview answered ${answer.statusCode}`));
        });
      });
      asked.once("error", reject);
      asked.end();
    });
}

/** Whether a preview's WebSocket still gives an echo after carrying nothing for so long. */
export async function idleSocket(bed: Bed, id: string, idleMs: number): Promise<boolean> {
  const { url, token } = await mint(bed, id);
  const headers = { host: new URL(url).host, "x-svc-preview-token": token };
  const socket = new WebSocket(bed.gateway.url.replace("http", "ws"), { headers });
  socket.on("error", (error) => console.error(error));
  await once(socket, "open");
  const echo = async (): Promise<boolean> => {
    if (socket.readyState !== socket.OPEN) return false;
    socket.send("still");
    const late = pause(10_000, false, { ref: false });
    return Promise.race([once(socket, "message").then(() => true), late]);
  };
  if (!(await echo())) throw new Error("no echo at the beginning");
  await pause(idleMs);
  const isAlive = await echo();
  socket.terminate();
  return isAlive;
}
