import type { ServerHttp2Stream } from 'node:http2';

/** Who hears what happens on a stream. */
interface StreamListener {
  data(chunk: Buffer<ArrayBuffer>): void;
  /** The client has sent all. */
  end(): void;
  closed(): void;
  /** All was sent but the trailers, of an answer that announced them. */
  sendTrailers(): void;
}

/** Tells `listener` of `stream`. One function for all streams: they are made for every request. */
export function listen(stream: ServerHttp2Stream, listener: StreamListener): void {
  const heard = stream as HeardStream;
  heard[LISTENER] = listener;
  heard.on('data', onData);
  heard.on('end', onEnd);
  heard.on('close', onClose);
  heard.on('error', ignore);
  heard.on('wantTrailers', onWantTrailers);
}

const LISTENER = Symbol('listener');
type HeardStream = ServerHttp2Stream & { [LISTENER]?: StreamListener };

function onData(this: HeardStream, chunk: Buffer<ArrayBuffer>): void {
  this[LISTENER]?.data(chunk);
}

function onEnd(this: HeardStream): void {
  this[LISTENER]?.end();
}

function onClose(this: HeardStream): void {
  this[LISTENER]?.closed();
}

function onWantTrailers(this: HeardStream): void {
  this[LISTENER]?.sendTrailers();
}

function ignore(): void {}
