import type { Argv } from 'yargs';
import { traceConvertCommand } from './trace-convert.js';
import { traceGenerateCommand } from './trace-generate.js';
import { traceInfoCommand } from './trace-info.js';

/** `escapement trace …`: look at, make and convert traces. */
export function traceCommand(cli: Argv): void {
  cli.command('trace', 'Look at, generate and convert traces', (trace) => {
    traceInfoCommand(trace);
    traceGenerateCommand(trace);
    traceConvertCommand(trace);
    return trace.demandCommand(1, 'name a subcommand: trace info, trace generate or trace convert');
  });
}
