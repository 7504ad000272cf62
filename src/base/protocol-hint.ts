/** Response of a TLS server to a plain request. */
const TLS_SPEAKER =
  /socket hang up|other side closed|ECONNRESET|EPIPE|closed the connection without an answer|Parse Error|Failed to connect/;
/** OpenSSL errors on a server without TLS. */
const PLAIN_SPEAKER = /wrong version number|packet length too long|EPROTO/;
/** Errors of HTTP and gRPC clients on a server of the other protocol. */
const NO_HTTP = /does not match the HTTP\/1\.1 protocol/;
const NO_GRPC = /Protocol error/;

/** Hint that the address of a server that does not answer may have the wrong scheme; else ''. */
export function protocolHint(url: string, reason: string): string {
  const scheme = /^(https?|grpcs?):/.exec(url)?.[1];
  if ((scheme === 'http' || scheme === 'grpc') && TLS_SPEAKER.test(reason))
    return `; does it speak TLS? Then use ${scheme}s://`;
  if ((scheme === 'https' || scheme === 'grpcs') && PLAIN_SPEAKER.test(reason))
    return `; does it speak no TLS? Then use ${scheme.slice(0, -1)}://`;
  if (scheme?.startsWith('http') && NO_HTTP.test(reason)) return '; does it speak gRPC? Then use grpc://';
  if (scheme?.startsWith('grpc') && NO_GRPC.test(reason)) return '; does it speak HTTP? Then use http://';
  return '';
}
