"""An inference server of the Open Inference Protocol in Python's standard library. A request sleeps for a time that is known,
and one at a time, so that what a client measures can be compared with the truth.

usage: sleeping_server.py BASE_MS ROW_MS      prints its port

Models: rows (FP32 [-1,4], at most 8 rows), single (FP32 [4]). GET /seen: the rows of each request so far.
"""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BASE_MS, ROW_MS = float(sys.argv[1]), float(sys.argv[2])
MOST_ROWS = 8
INPUTS = {"rows": [-1, 4], "single": [4]}
device = threading.Lock()
seen = []


def tensor(name, shape, **more):
    return {"name": name, "datatype": "FP32", "shape": shape, **more}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer is a head and a body: together, not one after the acknowledgment of the other.
    wbufsize = -1

    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def do_GET(self):
        parts = self.path.strip("/").split("/")
        if parts == ["v2"]:
            self.reply(200, {"name": "sleeper", "version": "1", "extensions": []})
        elif parts[:2] == ["v2", "health"]:
            self.reply(200, {})
        elif parts[:2] == ["v2", "models"] and parts[2] in INPUTS:
            name, shape = parts[2], INPUTS[parts[2]]
            self.reply(200, {"name": name, "inputs": [tensor("x", shape)], "outputs": [tensor("y", shape)]})
        elif parts == ["seen"]:
            self.reply(200, seen)
        else:
            self.reply(404, {"error": "not found"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        parts = self.path.strip("/").split("/")
        if parts == ["v2", "repository", "index"]:
            self.reply(200, [{"name": name, "state": "READY"} for name in INPUTS])
            return
        x = json.loads(body)["inputs"][0]
        rows = x["shape"][0] if parts[2] == "rows" else 1
        if rows > MOST_ROWS:
            self.reply(400, {"error": f"at most {MOST_ROWS} rows"})
            return
        with device:
            seen.append(rows)
            time.sleep((BASE_MS + ROW_MS * rows) / 1000)
        self.reply(200, {"model_name": parts[2], "outputs": [tensor("y", x["shape"], data=x["data"])]})

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
