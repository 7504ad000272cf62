import type { Argv } from 'yargs';
export function traceCommand(_cli: Argv): void {}
