import { fileURLToPath } from 'node:url';
import { loadSync, type PackageDefinition } from '@grpc/proto-loader';
import { withEntryNames } from './grpc/descriptors.js';

// Where the .proto files lie: the same paths from here in src and, compiled, in dist.
export const PROTOCOL_FILE = protoFile('open-inference');
const HEALTH_FILE = protoFile('grpc-health');
const REFLECTION_FILE = protoFile('grpc-reflection');

/** A method of a service: where it is called, and how its response is encoded. */
interface MethodCodec {
  readonly path: string;
  readonly responseSerialize: (response: object) => Uint8Array;
}

type ServiceCodec = Readonly<Record<string, MethodCodec>>;

/** The .proto files of what this server speaks. */
export class Protocols {
  private readonly loaded = [PROTOCOL_FILE, HEALTH_FILE, REFLECTION_FILE].map((file) =>
    loadSync(file, { keepCase: true }),
  );

  /** The methods of a service, by its whole name. */
  service(name: string): ServiceCodec {
    for (const definitions of this.loaded)
      if (name in definitions) return definitions[name] as unknown as ServiceCodec;
    throw new Error(`no service ${name}`);
  }

  serviceNames(): string[] {
    return this.loaded.flatMap((definitions) =>
      Object.keys(definitions).filter((name) => !('fileDescriptorProtos' in definitions[name])),
    );
  }

  /** The FileDescriptorProtos that declare a message, a service or what is inside one; null: none does. */
  descriptorsOf(symbol: string): readonly Uint8Array[] | null {
    for (const definitions of this.loaded) {
      for (let name = symbol; name !== ''; name = name.slice(0, Math.max(0, name.lastIndexOf('.'))))
        if (Object.hasOwn(definitions, name)) return descriptorsIn(definitions);
    }
    return null;
  }

  /** The same by the name of the file. */
  descriptorsNamed(file: string): readonly Uint8Array[] | null {
    for (const definitions of this.loaded) {
      const descriptors = descriptorsIn(definitions);
      // The name is the first field: its tag, its length, itself.
      const name = (descriptor: Uint8Array) =>
        Buffer.from(descriptor.subarray(2, 2 + descriptor[1])).toString();
      if (descriptors.some((descriptor) => name(descriptor) === file)) return descriptors;
    }
    return null;
  }
}

function descriptorsIn(definitions: PackageDefinition): readonly Uint8Array[] {
  for (const definition of Object.values(definitions))
    if ('fileDescriptorProtos' in definition)
      return (definition.fileDescriptorProtos as Uint8Array[]).map(withEntryNames);
  return [];
}

function protoFile(name: string): string {
  return fileURLToPath(new URL(`../../../src/live/frontend/${name}.proto`, import.meta.url));
}
