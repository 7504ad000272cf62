import { REFUSALS, type Refusal } from '../refusal.js';

/** Trailers of a call that succeeded. */
export const OK_TRAILERS = { 'grpc-status': '0' };

/** Trailers that say why a call failed. */
export function trailersOf({ kind, message, predictedMs }: Refusal): Record<string, string> {
  const trailers: Record<string, string> = {
    'grpc-status': String(REFUSALS[kind].grpc),
    'grpc-message': percentEncoded(message),
  };
  if (kind === 'overLimit') {
    // Clients with a retry policy wait as long.
    if (predictedMs) trailers['grpc-retry-pushback-ms'] = String(Math.ceil(predictedMs));
  } else if (predictedMs !== null) trailers['predicted-ms'] = String(predictedMs);
  return trailers;
}

const LONGEST_MESSAGE = 4096;

/** A message as gRPC's headers carry it: what is not printable ASCII, and `%`, as %XX of its UTF-8 bytes. */
function percentEncoded(message: string): string {
  const short = message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message;
  return short.replace(/[^ -$&-~]+/gu, (stretch) => {
    let encoded = '';
    for (const byte of Buffer.from(stretch))
      encoded += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    return encoded;
  });
}
