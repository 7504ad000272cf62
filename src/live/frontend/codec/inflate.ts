import { gunzipSync, type InputType, inflateSync, type ZlibOptions } from 'node:zlib';

/** Names of HTTP's content codings; gRPC has the same. `deflate` is the zlib format. */
export type Compression = 'gzip' | 'deflate';

/**
 * Decompresses all of `body`, with each member of gzip. Node passes over what follows a zlib stream, and over what follows
 * a member of gzip from the first zero byte on. Throws if there is such a rest.
 */
function inflateWhole(
  encoding: Compression,
  body: Uint8Array,
  options: ZlibOptions,
): Uint8Array<ArrayBuffer> {
  const { buffer, engine } = WITH_INFO[encoding](body, { ...options, info: true });
  const stray = body.length - engine.bytesWritten;
  if (stray === 0) return buffer;
  throw new Error(`${stray} ${stray === 1 ? 'byte follows' : 'bytes follow'} its end`);
}

/** Says how much of its input it read. Node's types leave `info` out. */
type InflateWithInfo = (
  body: InputType,
  options: ZlibOptions & { readonly info: true },
) => { readonly buffer: Buffer<ArrayBuffer>; readonly engine: { readonly bytesWritten: number } };

const WITH_INFO: Readonly<Record<Compression, InflateWithInfo>> = {
  gzip: gunzipSync as unknown as InflateWithInfo,
  deflate: inflateSync as unknown as InflateWithInfo,
};
