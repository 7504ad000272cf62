import * as z from 'zod';
import { EscapementError } from '../../base/errors.js';

const ADDRESS = 'the address';
/** Prefix of a packed setup: version of the packing, so that later pages can read earlier addresses. */
const PREFIX = '1.';

/** Part of an address after `#` that holds a whole setup: its JSON, deflated, in base64url. */
export async function packAddress(setup: Setup): Promise<string> {
  const deflated = await collect(stream(new TextEncoder().encode(setupToJson(setup)), 'deflate'));
  const base64 = toBase64(deflated);
  return PREFIX + base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** Setup of such an address, without its `#`. Throws `E_CONFIG_VALUE` for anything else. */
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

/** Collects a stream; rejects before memory runs out, since a small address can unpack to any size. */
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

/** Maximum number of arguments of a call. */
const CHUNK = 8192;

function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += CHUNK)
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}

/** Decodes base64; null if invalid. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}

const VERSION = 1;
const LANES = 'lanes must be one or two lists of texts';

/** A setup as text, for pages and addresses. Equal setups give equal text. */
export function setupToJson({ file, text, overrides, lanes, files, digests }: Setup): string {
  const packed = Object.keys(files)
    .sort()
    .map((path) => {
      const content = files[path]!;
      return [path, typeof content === 'string' ? content : { base64: toBase64(content) }];
    });
  return JSON.stringify({
    version: VERSION,
    ...{ file, text, overrides, lanes },
    files: Object.fromEntries(packed),
    ...(digests === undefined ? {} : { digests }),
  });
}

/** A text that `must` describes, and lists of such. */
const text = (must: string) => z.string(must);
const texts = (must: string) => z.array(text(must), must);

/** Fields of a setup; the first issue says what is wrong. */
const FIELDS = z.object(
  {
    version: z.literal(VERSION, {
      error: ({ input }) => `is of version ${String(input)}, this page reads version ${VERSION}`,
    }),
    file: text('holds no experiment'),
    text: text('holds no experiment'),
    overrides: texts('overrides must be a list of texts'),
    lanes: z.array(texts(LANES), LANES).min(1, LANES).max(2, LANES),
    files: z.record(
      z.string(),
      z.unknown().transform((content, context) => contentOf(content) ?? badFile(context)),
      'files must be texts by their paths',
    ),
    digests: texts('digests must be a list of texts').exactOptional(),
  },
  'holds no experiment',
);

/** Setup of such a text; `source` is its name in messages. Throws `E_CONFIG_VALUE`: the text is untrusted. */
export function setupFromJson(json: string, source: string): Setup {
  const fail = (what: string) => new EscapementError('E_CONFIG_VALUE', what, { file: source });
  if (json.length > MOST_SETUP_BYTES) throw fail(`holds more than ${MOST_SETUP_BYTES / 1e6} MB`);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw fail('is damaged: copy it again, whole');
  }
  const { data, error } = FIELDS.safeParse(value);
  if (data === undefined) throw fail(error!.issues[0]!.message);
  const { version: _, ...setup } = data;
  return setup;
}

/** Text or bytes of a file; null: neither. */
function contentOf(content: unknown): string | Uint8Array | null {
  if (typeof content === 'string') return content;
  const { base64 } = (content ?? {}) as { readonly base64?: unknown };
  return typeof base64 === 'string' ? fromBase64(base64) : null;
}

function badFile(context: z.RefinementCtx): never {
  context.addIssue({ code: 'custom', message: 'each of its files must be a text or bytes' });
  return z.NEVER;
}

/** Contents of the page: one experiment, run by one policy or by two side by side. */
export interface Setup {
  /** Name of the experiment file, for messages. */
  readonly file: string;
  readonly text: string;
  /** Overrides of the text, as for `--set`: `slo=10ms`. */
  readonly overrides: readonly string[];
  /** Further overrides of each lane, one lane or two: `policy.kind=edf`. */
  readonly lanes: readonly (readonly string[])[];
  /** Text or bytes by the paths that the experiment names. */
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  /** Digests of the lanes if the setup was shared after its run; equal digests prove that a viewer has the same run. */
  readonly digests?: readonly string[];
}

/** Limit on experiments and files together, above which an address or a page is too large to send. */
export const MOST_SETUP_BYTES = 4_000_000;
