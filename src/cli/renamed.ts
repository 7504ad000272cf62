import type { Flags } from './flag.js';

/** Flags by the names that they had before. */
const RENAMED: Readonly<Record<string, string>> = {
  clients: 'concurrency',
  seconds: 'duration',
};

/** What a flag is called now, where the command has it under its new name. */
export function renamedFlag(name: string, flags: Flags): string | undefined {
  const now = Object.hasOwn(RENAMED, name) ? RENAMED[name] : undefined;
  return now !== undefined && Object.hasOwn(flags, now) ? now : undefined;
}
