import { EscapementError } from '../../base/errors.js';
import { fromBase64, toBase64 } from './base64.js';
import { MOST_SETUP_BYTES, type Setup } from './setup.js';

const VERSION = 1;

/** A setup as the text that pages hold and addresses pack. The same setup gives the same text. */
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

/** The setup of such a text; `source` is what messages call it. Throws `E_CONFIG_VALUE`: it may come from anyone. */
export function setupFromJson(json: string, source: string): Setup {
  const fail = (what: string) => new EscapementError('E_CONFIG_VALUE', what, { file: source });
  if (json.length > MOST_SETUP_BYTES) throw fail(`holds more than ${MOST_SETUP_BYTES / 1e6} MB`);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw fail('is damaged: copy it again, whole');
  }
  if (!isObject(value)) throw fail('holds no experiment');
  if (value.version !== VERSION)
    throw fail(`is of version ${String(value.version)}, this page reads version ${VERSION}`);
  const { file, text, overrides, lanes, files, digests } = value;
  if (typeof file !== 'string' || typeof text !== 'string') throw fail('holds no experiment');
  if (!isTexts(overrides)) throw fail('overrides must be a list of texts');
  if (!Array.isArray(lanes) || !lanes.every(isTexts) || lanes.length < 1 || lanes.length > 2)
    throw fail('lanes must be one or two lists of texts');
  if (!isObject(files)) throw fail('files must be texts by their paths');
  if (digests !== undefined && !isTexts(digests)) throw fail('digests must be a list of texts');
  const unpacked = Object.entries(files).map(([path, content]) => [path, contentOf(content, path, fail)]);
  return {
    ...{ file, text, overrides, lanes },
    files: Object.fromEntries(unpacked),
    ...(digests === undefined ? {} : { digests }),
  };
}

function contentOf(content: unknown, path: string, fail: (what: string) => Error): string | Uint8Array {
  if (typeof content === 'string') return content;
  const bytes = isObject(content) && typeof content.base64 === 'string' ? fromBase64(content.base64) : null;
  if (bytes === null) throw fail(`file ${path} must be a text or bytes`);
  return bytes;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
