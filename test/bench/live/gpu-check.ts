import { spawnSync } from 'node:child_process';
import { rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { EscapementError } from '../../core/errors.js';
import type { Profile } from '../../experiment/profile.js';
import { makeFolder } from '../../files/make-folder.js';
import { writeWhole } from '../../files/output-file.js';
import { PROVIDERS, type Provider } from '../../live/device.js';
import { ONNXRUNTIME_VERSION } from '../../live/ort/open-session.js';
import { measureIdle } from './delays.js';
import { measureFidelity } from './fidelity.js';
import { fidelityTable, idleTable, profileTable, saturationTable } from './markdown.js';
import { measureSaturation } from './saturation.js';
import { type Bench, prepare, type Subject } from './subject.js';

/*
 * What a machine with a GPU does with real models: `npm run gpu-check -- [--device webgpu] [--input 224]
 * [--seconds 20] [--quick] [--out experiments/live/gpu]`. Profiles ResNet-18 and ResNet-50, runs the fidelity and efficiency
 * experiments, and writes DATE-DEVICE.json and .md. Nothing else should run meanwhile.
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
  process.exit(error.exitCode);
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
  const idle = await measureIdle(bench, subjects[0], idleRatePerS(profiles[0]), seconds);
  const saturation = [];
  for (const subject of subjects) {
    say(`saturating ${subject.name}`);
    saturation.push({ name: subject.name, ...(await measureSaturation(bench, subject, seconds)) });
  }
  say('the same arrivals live and simulated');
  const fidelity = await measureFidelity(bench, subjects, seconds, flags.quick ? 1 : 3);
  const facts = {
    device,
    gpu: gpuName(),
    onnxruntime: ONNXRUNTIME_VERSION,
    node: process.version,
    input,
    seconds,
  };
  makeFolder(flags.out);
  const date = today(flags.out);
  const json = join(flags.out, `${date}-${device}.json`);
  writeWhole(json, `${JSON.stringify({ ...facts, profiles, idle, saturation, fidelity }, null, 2)}\n`);
  const text = [
    `# ${facts.gpu} through ${device}, ${date}\n`,
    `onnxruntime ${facts.onnxruntime}, Node ${facts.node}; input ${input} × ${input}; ${seconds} s a run.\n`,
    profileTable(profiles),
    idleTable(idle),
    saturationTable(saturation),
    fidelityTable(fidelity.rows),
  ].join('\n');
  writeWhole(json.replace(/json$/, 'md'), text);
  process.stdout.write(`${text}\nwritten to ${json}\n`);
}

/** Slow enough that no request waits for another. */
function idleRatePerS({ batches }: Profile): number {
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

/** Year, month and day: the date of a file that is written now. */
function today(dir: string): string {
  const probe = join(dir, '.date');
  writeWhole(probe, '');
  const { mtime } = statSync(probe);
  rmSync(probe);
  return mtime.toISOString().slice(0, 10);
}
