import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { unixMs } from '../../../src/base/clock/wall-clock.js';
import { EscapementError } from '../../../src/base/errors.js';
import { makeFolder } from '../../../src/base/files/make-folder.js';
import { writeWhole } from '../../../src/base/files/output-file.js';
import { GIB } from '../../../src/base/units.js';
import { runCommandLine } from '../../../src/cli/command-line.js';
import { exitCodeOf } from '../../../src/cli/exit-codes.js';
import { PROVIDERS, type Provider } from '../../../src/live/device.js';
import { onnxruntimeVersion } from '../../../src/live/ort/open-session.js';
import type { BenchResult } from '../../../src/tools/bench/result.js';
import { benchText } from '../../../src/tools/bench/text.js';
import { examine } from '../../../src/tools/doctor/examine.js';
import { thisHost } from '../../../src/tools/doctor/host.js';
import { reportText } from '../../../src/tools/doctor/text.js';
import { measureFidelity } from './fidelity.js';
import { fidelityTable, profileTable, table } from './markdown.js';
import { cycleModels, type MemoryAfter } from './memory-cycles.js';
import { type Bench, make, prepare, type Subject } from './subject.js';

/*
 * What a machine with a GPU does with real models, in at most eight minutes: `npm run gpu-check -- [--device cuda]
 * [--input 224] [--seconds 20] [--quick] [--out experiments/live/gpu]`. In this order: `doctor`; memory in 200 cycles of
 * LOAD and UNLOAD; latencies of ResNet-18, ResNet-50 and an encoder of texts; live runs next to simulated ones;
 * throughput of the server next to that of onnxruntime alone. Writes DATE-DEVICE.json and .md after each of them, so
 * that whatever goes wrong leaves the rest. `--quick`: for GPUs that are emulated. Nothing else should run at the same
 * time.
 */

const LIMIT_MS = 8 * 60_000;
const CYCLES_LIMIT_S = 90;
const LOADS = [0.6, 0.9, 1.2];
/** Columns of text on the page. */
const COLUMNS = 100;

const { values: flags } = parseArgs({
  options: {
    device: { type: 'string', default: 'webgpu' },
    input: { type: 'string', default: '224' },
    seconds: { type: 'string', default: '20' },
    out: { type: 'string', default: 'experiments/live/gpu' },
    repository: { type: 'string', default: 'out/gpu-models' },
    quick: { type: 'boolean', default: false },
    // Of the process that this one starts for the cycles: webgpu supports one thread per process.
    cycles: { type: 'string' },
  },
});

/** What has been found so far, as one JSON file and one page. */
class Page {
  private facts: Record<string, unknown>;
  private readonly text: string[];
  private readonly path: string;

  constructor(device: Provider, input: number, seconds: number) {
    const date = new Date(unixMs()).toISOString().slice(0, 'YYYY-MM-DD'.length);
    this.path = join(flags.out, `${date}-${device}`);
    const runtime = { onnxruntime: onnxruntimeVersion(), node: process.version };
    this.facts = { device, gpu: gpuName(), ...runtime, input, seconds };
    this.text = [
      `# ${this.facts.gpu} through ${device}, ${date}\n`,
      `onnxruntime ${runtime.onnxruntime}, Node ${runtime.node}; input ${input} × ${input}; ${seconds} s a run.\n`,
    ];
  }

  add(facts: object, title: string, text: string): void {
    this.facts = { ...this.facts, ...facts };
    this.text.push(`## ${title}\n`, text);
    writeWhole(`${this.path}.json`, `${JSON.stringify(this.facts, null, 2)}\n`);
    writeWhole(`${this.path}.md`, this.text.join('\n'));
    process.stdout.write(`## ${title}\n\n${text}\nwritten to ${this.path}.json\n`);
  }
}

try {
  const device = providerOf(flags.device);
  if (flags.cycles === undefined) await main(device, Number(flags.input), Number(flags.seconds));
  else {
    const { paths, count } = JSON.parse(flags.cycles);
    const found = await cycleModels(paths, device, count, CYCLES_LIMIT_S);
    process.stdout.write(JSON.stringify(found));
  }
  process.exit(0);
} catch (error) {
  if (!(error instanceof EscapementError)) throw error;
  process.stderr.write(`gpu-check: ${error.code}: ${error.message}\n`);
  process.exit(exitCodeOf(error));
}

async function main(device: Provider, input: number, seconds: number): Promise<void> {
  setTimeout(() => {
    say(`stopped after ${LIMIT_MS / 60_000} minutes`);
    process.exit(1);
  }, LIMIT_MS).unref();
  makeFolder(flags.repository);
  makeFolder(flags.out);
  const bench: Bench = { repository: flags.repository, device, quick: flags.quick };
  const pair: Subject[] = [
    { name: `resnet18-${input}`, architecture: 'resnet18', input },
    { name: `resnet50-${input}`, architecture: 'resnet50', input },
  ];
  const subjects: Subject[] = [...pair, { name: 'encoder-128', architecture: 'encoder', input: 128 }];
  const page = new Page(device, input, seconds);

  say('doctor');
  const doctor = await examine(thisHost(), { role: 'worker', device, cacheBytes: 2 * GIB });
  page.add({ doctor }, 'Doctor', quoted(reportText(doctor, { columns: COLUMNS, colour: false })));

  say('memory');
  const paths: string[] = [];
  for (const subject of pair) paths.push(await make(bench, subject));
  const memory = cycledElsewhere(paths, flags.quick ? 20 : 200);
  page.add({ memory }, 'Memory in cycles of LOAD, INFER, UNLOAD', memoryTable(memory));

  const profiles = [];
  for (const subject of subjects) profiles.push(await prepare(bench, subject));
  page.add({ profiles }, 'Latencies', profileTable(profiles));

  say('the same arrivals live and simulated');
  const fidelity = await measureFidelity(bench, { subjects: pair }, seconds, 1, LOADS);
  page.add({ fidelity }, 'Live and simulated', fidelityTable(fidelity));

  // It measures all batch sizes, which takes minutes where a GPU is emulated.
  if (flags.quick) return;
  say('the whole server next to onnxruntime alone');
  const folder = join(flags.repository, '..', 'gpu-bench');
  await runCommandLine([
    ...['bench', '--repository', flags.repository, '--device', device],
    ...['--trials', '2', '--out', folder],
  ]);
  const throughput: BenchResult = JSON.parse(readFileSync(join(folder, 'bench.json'), 'utf8'));
  page.add({ throughput }, 'Throughput', quoted(benchText(throughput, COLUMNS)));
}

function cycledElsewhere(paths: readonly string[], count: number): MemoryAfter[] {
  const args = ['--device', flags.device, '--cycles', JSON.stringify({ paths, count })];
  const child = spawnSync(process.execPath, [process.argv[1], ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.status === 0) return JSON.parse(child.stdout);
  throw new EscapementError('E_DEVICE', `the cycles ended with ${child.signal ?? child.status}`);
}

function memoryTable(memory: readonly MemoryAfter[]): string {
  return table(
    ['cycles', 'device, MiB', 'process, MiB'],
    memory.map(({ cycles, deviceMib, rssMib }) => [cycles, deviceMib ?? 'unknown', rssMib]),
  );
}

function quoted(text: string): string {
  return `\`\`\`text\n${text.trimEnd()}\n\`\`\`\n`;
}

function providerOf(name: string): Provider {
  const provider = PROVIDERS.find((known) => known === name);
  if (provider !== undefined) return provider;
  throw new EscapementError('E_USAGE', `--device ${name}: there are ${PROVIDERS.join(', ')}`);
}

function say(what: string): void {
  process.stderr.write(`gpu-check: ${what}\n`);
}

/** What the driver calls the GPU, where it can be asked. */
function gpuName(): string {
  const { status, stdout } = spawnSync('nvidia-smi', ['--query-gpu=name', '--format=csv,noheader'], {
    encoding: 'utf8',
    timeout: 10_000,
  });
  const [name = ''] = status === 0 ? stdout.trim().split('\n') : [];
  const driver = process.env.VK_ICD_FILENAMES ?? process.env.VK_DRIVER_FILES ?? 'unknown GPU';
  return name === '' ? basename(driver) : name;
}
