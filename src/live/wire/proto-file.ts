import { fileURLToPath } from 'node:url';
import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader';
import { CheckedMessages } from './checked-messages.js';

type Definitions = Readonly<Record<string, MessageTypeDefinition<object, object>>>;

// The library also writes errors that it returns to stderr.
setLogVerbosity(logVerbosity.NONE);

/** A protocol file next to this one. */
export class ProtoFile {
  private readonly definitions: Definitions;

  constructor(
    name: string,
    readonly packageName: string,
  ) {
    // The same path from src and, compiled, from dist: the package ships the protocol file there.
    const file = fileURLToPath(new URL(`../../../src/live/wire/${name}`, import.meta.url));
    const loaded = loadSync(file, { longs: Number, defaults: true, oneofs: true });
    this.definitions = Object.fromEntries(
      Object.entries(loaded).map(([path, definition]) => [path.slice(packageName.length + 1), definition]),
    ) as Definitions;
  }

  messages<Message extends object>(name: string): CheckedMessages<Message> {
    return new CheckedMessages<Message>(this.definitions[name], this.definitions);
  }
}
