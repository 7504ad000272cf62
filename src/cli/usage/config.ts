import { list } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json, plugin } from './common.js';
import { serverExperiment } from './server.js';

export const usage = usageOf({
  flags: {
    experiment: serverExperiment,
    set: list('KEY=VALUE', 'Override one of those, e.g. runtime.intraOpThreads=2'),
    plugin,
    json,
  },
  examples: ['config', 'config --experiment tuned.yaml --set runtime.preset=min-memory'],
  notes: [
    'Settings come from --set, environment variables, the experiment file and its preset; the first of these that ' +
      'has a value wins. Runtime settings and their environment variables: escapement keys runtime',
  ],
});

export type ConfigArgs = ArgsOf<typeof usage>;
