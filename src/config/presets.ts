import { isSection } from './document.js';
import { PRESETS, type RuntimeSettings } from './schema-runtime.js';

type Tree = Readonly<Record<string, unknown>>;

/** An experiment as written, in which the preset of `runtime` says what the section itself does not. */
export function withPreset(tree: Tree, cores: () => number): Tree {
  const { runtime } = tree;
  if (!isSection(runtime)) return tree;
  const preset = PRESETS.find((name) => name === runtime.preset);
  return preset === undefined ? tree : { ...tree, runtime: { ...presetValues(preset, cores), ...runtime } };
}

/**
 * The values that a preset sets in place of the defaults, as written in a file. `cores`: what a machine can run at once.
 *
 * - min-memory, measured on Linux x64 with four ResNet-50 (98 MiB each), warm, after INFERs of one and of eight: one
 *   lane thread in place of four takes the process from 1.3 to 1.0 GiB at most, without arena to 0.85 GiB, as a warm
 *   model then keeps no tensors between INFERs; INFERs took up to 5 % longer. Without the memory pattern it was the
 *   same, so that stays.
 * - max-parallelism: one INFER at a time runs on a device, so it gets all cores; twice the lane threads halve how
 *   often a LOAD waits for an INFER in its own thread. interOpThreads stay 1: few models have branches, and
 *   onnxruntime plans no memory then.
 */
export function presetValues(
  preset: (typeof PRESETS)[number],
  cores: () => number,
): Partial<Record<keyof RuntimeSettings, unknown>> {
  switch (preset) {
    case 'none':
      return {};
    case 'min-memory':
      return { laneThreads: 1, memoryReserve: '75%', arena: false, storageBufferCache: 'disabled' };
    case 'max-parallelism':
      return { laneThreads: 16, intraOpThreads: cores() };
  }
}
