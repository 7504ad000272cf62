import { spawnSync } from 'node:child_process';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileStamp, unixMs } from '../../../src/base/clock/wall-clock.js';
import { EscapementError } from '../../../src/base/errors.js';
import { makeFolder } from '../../../src/base/files/make-folder.js';
import { writeWhole } from '../../../src/base/files/output-file.js';
import { runCommandLine } from '../../../src/cli/command-line.js';
import { exitCodeOf } from '../../../src/cli/exit-codes.js';
import type { Profile } from '../../../src/config/profile.js';
import { PROVIDERS, type Provider } from '../../../src/live/device.js';
import { onnxruntimeVersion } from '../../../src/live/ort/open-session.js';
import { measureFidelity } from './fidelity.js';
import { measureIdle } from './idle.js';
import { fidelityTable, idleTable, profileTable } from './markdown.js';
import { type Bench, prepare, type Subject } from './subject.js';

/*
 * What a machine with a GPU does with real models: `npm run gpu-check -- [--device webgpu] [--input 224]
 * [--seconds 20] [--quick] [--out experiments/live/gpu]`. Profiles ResNet-18 and ResNet-50, compares live runs with
 * simulated ones, writes DATE-DEVICE.json and .md, and then, unless --quick, what `escapement bench` finds to
 * DATE-DEVICE-bench. Nothing else should run at the same time.
 */

const { values: flags } = parseArgs({
  options: {
    device: { type: 'string', default: 'webgpu' },
    input: { type: 'string', default: '224' },
    seconds: { type: 'string', default: '20' },
    out: { type: 'string', default: 'experiments/live/gpu' },
    repository: { type: 'string', default: 'out/gpu-models' },
    quick: { type: 'boolean', default: false },
  },
});

try {
  await main(providerOf(flags.device), Number(flags.input), Number(flags.seconds));
  process.exit(0);
} catch (error) {
  if (!(error instanceof EscapementError)) throw error;
  process.stderr.write(`gpu-check: ${error.code}: ${error.message}\n`);
  process.exit(exitCodeOf(error));
}

async function main(device: Provider, input: number, seconds: number): Promise<void> {
  makeFolder(flags.repository);
  const bench: Bench = { repository: flags.repository, device, quick: flags.quick };
  const subjects: Subject[] = [
    { name: `resnet18-${input}`, architecture: 'resnet18', input },
    { name: `resnet50-${input}`, architecture: 'resnet50', input },
  ];
  const profiles = [];
  for (const subject of subjects) profiles.push(await prepare(bench, subject));
  say('one request at a time');
  const idle = await measureIdle(bench, subjects[0], idleRps(profiles[0]), seconds);
  say('the same arrivals live and simulated');
  const fidelity = await measureFidelity(bench, subjects, seconds, flags.quick ? 1 : 5);
  const facts = {
    device,
    gpu: gpuName(),
    onnxruntime: onnxruntimeVersion(),
    node: process.version,
    input,
    seconds,
  };
  makeFolder(flags.out);
  const date = fileStamp(unixMs()).slice(0, 'YYYY-MM-DD'.length);
  const json = join(flags.out, `${date}-${device}.json`);
  writeWhole(json, `${JSON.stringify({ ...facts, profiles, idle, fidelity }, null, 2)}\n`);
  const text = [
    `# ${facts.gpu} through ${device}, ${date}\n`,
    `onnxruntime ${facts.onnxruntime}, Node ${facts.node}; input ${input} × ${input}; ${seconds} s a run.\n`,
    profileTable(profiles),
    idleTable(idle),
    fidelityTable(fidelity),
  ].join('\n');
  writeWhole(json.replace(/json$/, 'md'), text);
  process.stdout.write(`${text}\nwritten to ${json}\n`);
  // It measures all batch sizes, which takes minutes where a GPU is emulated.
  if (flags.quick) return;
  say('frontend, device and the whole server under full load');
  await runCommandLine([
    ...['bench', '--repository', flags.repository, '--device', device],
    ...['--out', json.replace(/\.json$/, '-bench')],
  ]);
}

/** Slow enough that no request waits for another. */
function idleRps({ batches }: Profile): number {
  return Math.min(10, 1000 / (4 * batches[0].medianMs));
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
