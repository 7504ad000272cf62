import { FieldCount, LENGTH_DELIMITED, ProtobufReader } from './protobuf-reader.js';
import { ProtobufWriter } from './protobuf-writer.js';

// Fields of FileDescriptorProto, DescriptorProto, FieldDescriptorProto and MessageOptions.
const MESSAGE_TYPE = 4;
const NAME = 1;
const FIELD = 2;
const NESTED_TYPE = 3;
const OPTIONS = 7;
const TYPE_NAME = 6;
const MAP_ENTRY = 7;

/**
 * A FileDescriptorProto with the names that protobuf prescribes for the entries of maps: `ParametersEntry`, where
 * protobufjs writes `Parameters`. Other libraries refuse the file otherwise.
 */
export function withEntryNames(file: Uint8Array): Uint8Array {
  return rewritten(file, (field, value) => (field === MESSAGE_TYPE ? messageWithEntryNames(value) : value));
}

function messageWithEntryNames(message: Uint8Array): Uint8Array {
  const entries = new Set<string>();
  forEachField(message, (field, value) => {
    if (field === NESTED_TYPE && value !== null && isMapEntry(value)) entries.add(nameOf(value));
  });
  return rewritten(message, (field, value) => {
    if (field === NESTED_TYPE)
      return isMapEntry(value) ? renamed(value, NAME, entries) : messageWithEntryNames(value);
    return field === FIELD ? renamed(value, TYPE_NAME, entries) : value;
  });
}

/** The same message where a text field that has one of `names` ends with `Entry`. */
function renamed(message: Uint8Array, text: number, names: ReadonlySet<string>): Uint8Array {
  return rewritten(message, (field, value) => {
    const name = Buffer.from(value).toString();
    return field === text && names.has(name) ? Buffer.from(`${name}Entry`) : value;
  });
}

function isMapEntry(message: Uint8Array): boolean {
  let isEntry = false;
  forEachField(message, (field, options) => {
    if (field !== OPTIONS || options === null) return;
    forEachField(options, (option) => {
      isEntry ||= option === MAP_ENTRY;
    });
  });
  return isEntry;
}

function nameOf(message: Uint8Array): string {
  let name = '';
  forEachField(message, (field, value) => {
    if (field === NAME && value !== null) name = Buffer.from(value).toString();
  });
  return name;
}

/** Fields with a length as `change` has them, the others as they are. */
function rewritten(
  message: Uint8Array,
  change: (field: number, value: Uint8Array) => Uint8Array,
): Uint8Array {
  const writer = new ProtobufWriter();
  forEachField(message, (field, value, whole) => {
    if (value === null) {
      writer.append(whole);
      return;
    }
    const changed = change(field, value);
    writer.announce(field, changed.length);
    writer.append(changed);
  });
  return Buffer.from(writer.written);
}

/** `value`: null unless the field has a length; `whole`: with its tag. */
function forEachField(
  message: Uint8Array,
  visit: (field: number, value: Uint8Array | null, whole: Uint8Array) => void,
): void {
  const bytes = new Uint8Array(message);
  const reader = new ProtobufReader(bytes, 0, bytes.length, new FieldCount());
  for (let from = 0; reader.next(); from = reader.at) {
    const { field, type } = reader;
    const value = type === LENGTH_DELIMITED ? reader.data() : null;
    if (value === null) reader.skip();
    visit(field, value, bytes.subarray(from, reader.at));
  }
}
