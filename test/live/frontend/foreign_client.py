"""Talks to the gRPC frontend with Debian's python3-grpcio. Messages are put together byte by byte from the field numbers
of the Open Inference Protocol, so that nothing of the server's own description of them is trusted.

usage: foreign_client.py PORT      prints one JSON object
"""

import json
import struct
import sys

import grpc


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def fields(message):
    """{field number: [values]}, of varints and length-delimited fields."""
    found, at = {}, 0

    def read():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = read()
        value = read()
        if tag & 7 == 2:
            value, at = message[at : at + value], at + value
        found.setdefault(tag >> 3, []).append(value)
    return found


channel = grpc.insecure_channel(f"127.0.0.1:{sys.argv[1]}")


def call(method, request=b""):
    # Without serialisers, messages are bytes.
    return fields(channel.unary_unary(f"/inference.GRPCInferenceService/{method}")(request, timeout=30))


def refusal(method, request):
    try:
        call(method, request)
    except grpc.RpcError as error:
        return {
            "code": error.code().name,
            "details": error.details(),
            "trailers": {key: value for key, value in error.trailing_metadata() or () if key == "predicted-ms"},
        }


tensor = data(1, "x") + data(2, "FP32") + data(3, varint(2) + varint(2))
slo = data(4, data(1, "slo_ms") + data(2, number(2, 50)))
raw = struct.pack("<4f", 1, 2, 3, 4)
infer = data(1, "mlp") + data(3, "my id") + slo + data(5, tensor) + data(7, raw)
typed = data(1, "mlp") + data(5, tensor + data(5, data(6, raw)))

metadata = call("ModelMetadata", data(1, "mlp"))
answer = call("ModelInfer", infer)
output = fields(answer[5][0])
print(
    json.dumps(
        {
            "live": call("ServerLive")[1],
            "ready": call("ModelReady", data(1, "mlp"))[1],
            "server": call("ServerMetadata")[1][0].decode(),
            "input": [value.decode() for value in (fields(metadata[4][0])[n][0] for n in (1, 2))],
            "model": answer[1][0].decode(),
            "version": answer[2][0].decode(),
            "id": answer[3][0].decode(),
            "output": [output[1][0].decode(), output[2][0].decode(), list(output[3][0])],
            "values": struct.unpack("<4f", answer[6][0]),
            "typed": struct.unpack("<4f", call("ModelInfer", typed)[6][0]),
            "index": [fields(entry)[1][0].decode() for entry in call("RepositoryIndex")[1]],
            "unknown": refusal("ModelInfer", data(1, "other")),
            "rejected": refusal("ModelInfer", data(1, "busy") + slo + data(5, tensor) + data(7, raw)),
        }
    )
)
