import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

const SHOWN = 20;

/** Prints the files of tests that take longest: `npm test -- --reporter=default --reporter=./test/slowest-reporter.ts`. */
export default class SlowestReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((module) => ({
      name: relative(process.cwd(), module.moduleId),
      wallS: module.diagnostic().duration / 1000,
      importS: module.diagnostic().collectDuration / 1000,
      cpuS: (module.meta().cpuMs ?? 0) / 1000,
    }));
    const sum = (key: 'wallS' | 'importS' | 'cpuS') => files.reduce((total, file) => total + file[key], 0);
    console.log(`\n${row('wall s', 'import s', 'CPU s', `the slowest ${SHOWN} of ${files.length} files`)}`);
    files.sort((a, b) => b.wallS - a.wallS);
    for (const { name, wallS, importS, cpuS } of files.slice(0, SHOWN))
      console.log(row(wallS.toFixed(1), importS.toFixed(1), cpuS.toFixed(1), name));
    console.log(row(sum('wallS').toFixed(1), sum('importS').toFixed(1), sum('cpuS').toFixed(1), 'all files'));
  }
}

function row(wall: string, imported: string, cpu: string, name: string): string {
  return `${wall.padStart(8)} ${imported.padStart(8)} ${cpu.padStart(8)}  ${name}`;
}
