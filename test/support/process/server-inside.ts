/**
 * A server in a machine, on port 8000, in Python. `answer`: the body of `do_GET`, indented by eight. `self.begin()` sends the
 * head of the answer, and says whether the client speaks WebSocket.
 */
export const serverInside = (answer: string): string => `
import base64, hashlib, http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    def begin(self):
        key = self.headers.get("sec-websocket-key")
        self.send_response(101 if key else 200)
        if key:
            text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            self.send_header("connection", "Upgrade")
            self.send_header("upgrade", "websocket")
            self.send_header("sec-websocket-accept", base64.b64encode(hashlib.sha1(text.encode()).digest()).decode())
        else:
            self.send_header("content-type", "text/event-stream")
        self.end_headers()
        return key

    def do_GET(self):
${answer}

http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
`;
