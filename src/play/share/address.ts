import { EscapementError } from '../../base/errors.js';
import { fromBase64, toBase64 } from './base64.js';
import { MOST_SETUP_BYTES, type Setup } from './setup.js';
import { setupFromJson, setupToJson } from './setup-json.js';

const ADDRESS = 'the address';
/** In front of a packed setup: how it is packed, so that later pages read earlier addresses. */
const PREFIX = '1.';

/** The part of an address after `#` that holds a whole setup: its JSON, deflated, in base64url. */
export async function packAddress(setup: Setup): Promise<string> {
  const deflated = await collect(stream(new TextEncoder().encode(setupToJson(setup)), 'deflate'));
  const base64 = toBase64(deflated);
  return PREFIX + base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** The setup of such an address, without its `#`. Throws `E_CONFIG_VALUE` for anything else. */
export async function unpackAddress(fragment: string): Promise<Setup> {
  const fail = (what: string) => new EscapementError('E_CONFIG_VALUE', what, { file: ADDRESS });
  if (!fragment.startsWith(PREFIX)) throw fail('was not made by this page, or by a later version of it');
  const bytes = fromBase64(fragment.slice(PREFIX.length).replaceAll('-', '+').replaceAll('_', '/'));
  if (bytes === null) throw fail('is damaged: copy it again, whole');
  let json: Uint8Array;
  try {
    json = await collect(stream(bytes, 'inflate'));
  } catch {
    throw fail('is damaged or holds too much: copy it again, whole');
  }
  return setupFromJson(new TextDecoder().decode(json), ADDRESS);
}

function stream(bytes: Uint8Array<ArrayBuffer>, way: 'deflate' | 'inflate'): ReadableStream<Uint8Array> {
  const transform =
    way === 'deflate' ? new CompressionStream('deflate-raw') : new DecompressionStream('deflate-raw');
  return new Blob([bytes]).stream().pipeThrough(transform) as ReadableStream<Uint8Array>;
}

/** A small address can unpack to any size: rejects before memory runs out. */
async function collect(from: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const reader = from.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(new Uint8Array(value));
    bytes += value.length;
    if (bytes <= MOST_SETUP_BYTES) continue;
    await reader.cancel();
    throw new Error('too large');
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}
