import { required, text } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json } from './common.js';

export const usage = usageOf({
  arguments: { path: required(text('FILE', 'Profile (JSON)')) },
  flags: { json },
  examples: ['profile show experiments/profiles/resnet50_v2.v100.json'],
});

export type ProfileShowArgs = ArgsOf<typeof usage>;
