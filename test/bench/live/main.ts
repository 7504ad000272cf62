import { parseArgs } from 'node:util';
import { makeFolder } from '../../../src/base/files/make-folder.js';
import { PROVIDERS } from '../../../src/live/device.js';
import { type FidelityRun, measureFidelity } from './fidelity.js';
import { measureGpus } from './gpus.js';
import { runHostile } from './hostile/main.js';
import { fidelityTable } from './markdown.js';
import { type Bench, prepare, type Subject } from './subject.js';
import { measureThroughput } from './throughput.js';

/*
 * Live mode on this machine: `npm run bench:live -- [--only TEXT] [--device cpu] [--seconds 20]
 * [--repository out/bench-models]`. Prints a JSON line a case, or a line per point. Nothing else should run meanwhile.
 *
 * `-- --only chain [--rounds 3] [--seconds 16]` compares a pipeline of two models live and simulated, as `fidelity` does two models.
 *
 * `-- --only throughput [--loads http,grpc] [--rates 5000,10000] [--main FILE] [--cpus LIST] [--frontends N] [--rounds 5]
 * [--seconds 2] [--input-bytes 256]` measures requests per second and what each costs, or latency at steady rates; `--main` names the command
 * line of another build to measure in turns, `--cpus` what the servers may use.
 *
 * `-- --only gpus [--gpus 1,10,100,1000] [--models 100] [--policies clockwork,escapement] [--rate 300] [--rate-per-gpu 1]
 * [--rounds 3] [--seconds 5]` measures how the costs of a controller grow with its GPUs, which four workers emulate.
 *
 * `-- --hostile [--only PATTERN] [--seconds 8] [--settle 15] [--main dist/cli/main.js] [--proxy] [--frontends N] [--nice 19] [--server-nice 0]` is
 * another benchmark: a well-behaved client next to each of many attackers, a row each.
 * On a busy machine, as root, `--server-nice=-10` keeps other processes out of the figures.
 */

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    device: { type: 'string', default: 'cpu' },
    seconds: { type: 'string' },
    hostile: { type: 'boolean', default: false },
    proxy: { type: 'boolean', default: false },
    main: { type: 'string' },
    nice: { type: 'string', default: '19' },
    'server-nice': { type: 'string', default: '0' },
    settle: { type: 'string', default: '15' },
    cpus: { type: 'string', default: '' },
    frontends: { type: 'string', default: '1' },
    rounds: { type: 'string' },
    'input-bytes': { type: 'string', default: '256' },
    rates: { type: 'string', default: '' },
    loads: { type: 'string', default: 'http,grpc' },
    gpus: { type: 'string', default: '1,10,100,1000' },
    models: { type: 'string', default: '100' },
    policies: { type: 'string', default: 'clockwork,escapement' },
    rate: { type: 'string', default: '300' },
    'rate-per-gpu': { type: 'string', default: '1' },
    repository: { type: 'string', default: 'out/bench-models' },
  },
});
if (flags.hostile) {
  const isFine = await runHostile({
    ...{ only: flags.only, main: flags.main },
    seconds: Number(flags.seconds ?? '8'),
    nice: Number(flags.nice),
    serverNice: Number(flags['server-nice']),
    ...{ proxy: flags.proxy, frontends: Number(flags.frontends) },
    settleSeconds: Number(flags.settle),
  });
  process.exit(isFine ? 0 : 1);
}
const device = PROVIDERS.find((provider) => provider === flags.device);
if (device === undefined) throw new Error(`--device ${flags.device}: there are ${PROVIDERS.join(', ')}`);
const seconds = Number(flags.seconds ?? '20');
const bench: Bench = { repository: flags.repository, device };
makeFolder(flags.repository);

const RESNET18: Subject = { name: 'resnet18-64', architecture: 'resnet18', input: 64 };
const MOBILENET: Subject = { name: 'mobilenet-v2-64', architecture: 'mobilenet-v2', input: 64 };
const PAIR = [RESNET18, MOBILENET];

const rounds = Number(flags.rounds ?? '3');
const cases: Record<string, () => Promise<unknown>> = {
  fidelity: () => measureFidelity(bench, { subjects: PAIR }, seconds, 5),
  chain: () => measureFidelity(bench, { subjects: PAIR, isChain: true }, seconds, rounds, [0.3, 0.6, 0.9]),
  throughput: () =>
    measureThroughput({
      ...{ main: flags.main, cpus: flags.cpus, seconds: Number(flags.seconds ?? '2') },
      kinds: flags.loads.split(','),
      rates: flags.rates.split(',').filter(Boolean).map(Number),
      ...{ frontends: Number(flags.frontends), rounds: Number(flags.rounds ?? '5') },
      inputBytes: Number(flags['input-bytes']),
    }),
  gpus: () =>
    measureGpus({
      gpus: flags.gpus.split(',').map(Number),
      models: Number(flags.models),
      policies: flags.policies.split(','),
      ...{ rate: Number(flags.rate), ratePerGpu: Number(flags['rate-per-gpu']) },
      ...{ rounds, seconds: Number(flags.seconds ?? '5') },
    }),
};

const chosen = Object.entries(cases).filter(([name]) => name.includes(flags.only));
const TABLED = ['fidelity', 'chain'];
if (chosen.some(([name]) => TABLED.includes(name))) for (const subject of PAIR) await prepare(bench, subject);
for (const [name, measure] of chosen) {
  const measured = [await measure()].flat();
  if (TABLED.includes(name)) process.stderr.write(fidelityTable(measured as FidelityRun[]));
  for (const figures of measured)
    process.stdout.write(`${JSON.stringify({ case: name, ...(figures as object) })}\n`);
}
process.exit(0);
